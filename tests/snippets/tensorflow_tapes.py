import tensorflow as tf

x = tf.Variable(3.0)
with tf.GradientTape() as tape:
    y = x ** 2 + 2 * tf.sin(x)
dy_dx = tape.gradient(y, x)
print(dy_dx.numpy())

w = tf.Variable([[0.1, -0.2], [0.3, 0.4], [-0.5, 0.6]], name='w')
b = tf.Variable(tf.zeros(2, dtype=tf.float32), name='b')
inp = [[1., 2., 3.]]

with tf.GradientTape(persistent=True) as tape:
    out = tf.matmul(inp, w) + b
    loss = tf.reduce_mean(out ** 2)
[dl_dw, dl_db] = tape.gradient(loss, [w, b])
my_vars = {'w': w, 'b': b}
grad = tape.gradient(loss, my_vars)
del tape

x0 = tf.constant(3.0)
with tf.GradientTape() as t2:
    t2.watch(x0)
    with tf.GradientTape() as t1:
        t1.watch(x0)
        z = x0 * x0 * x0
    dz = t1.gradient(z, x0)
d2z = t2.gradient(dz, x0)

lr = 0.1
for step in range(2):
    with tf.GradientTape() as tape:
        pred = tf.nn.sigmoid(tf.matmul(tf.constant(inp), w) + b)
        loss = tf.reduce_sum(tf.square(pred - tf.constant([[1., 0.]])))
    dw, db = tape.gradient(loss, [w, b])
    w.assign_sub(lr * dw)
    b.assign_sub(lr * db)
    tf.print("loss", loss)
