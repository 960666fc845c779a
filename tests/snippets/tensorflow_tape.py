import tensorflow as tf
x = tf.Variable(3.0)
with tf.GradientTape() as tape:
    y = x ** 2 + tf.sin(x)
dy_dx = tape.gradient(y, x)
print(dy_dx.numpy())
