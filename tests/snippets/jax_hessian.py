import jax
import jax.numpy as jnp
from jax import grad, jacfwd, jacrev, jit, jvp, vjp, vmap

jax.config.update('jax_enable_x64', True)


def sigmoid(x):
    return 0.5 * (jnp.tanh(x / 2) + 1)


# Outputs probability of a label being true.
def predict(W, b, inputs):
    return sigmoid(jnp.dot(inputs, W) + b)


# Build a toy dataset.
inputs = jnp.array([[0.52, 1.12,  0.77],
                   [0.88, -1.08, 0.15],
                   [0.52, 0.06, -1.30],
                   [0.74, -2.49, 1.39]])
targets = jnp.array([True, True, False, True])


# Training loss is the negative log-likelihood of the training examples.
def loss(W, b):
    preds = predict(W, b, inputs)
    label_probs = preds * targets + (1 - preds) * (1 - targets)
    return -jnp.sum(jnp.log(label_probs))


W = jnp.array([0.3, -0.8, 0.5])
b = 0.25

# Differentiate `loss` with respect to the first positional argument:
W_grad = grad(loss, argnums=0)(W, b)
print(f'{W_grad=}')
b_grad = grad(loss, 1)(W, b)
print('b_grad', b_grad)
W_grad, b_grad = grad(loss, (0, 1))(W, b)
loss_value, Wb_grad = jax.value_and_grad(loss, (0, 1))(W, b)


def loss2(params_dict):
    preds = predict(params_dict['W'], params_dict['b'], inputs)
    label_probs = preds * targets + (1 - preds) * (1 - targets)
    return -jnp.sum(jnp.log(label_probs))


print(grad(loss2)({'W': W, 'b': b}))

# Isolate the function from the weight matrix to the predictions
f = lambda W: predict(W, b, inputs)
J = jacfwd(f)(W)
J2 = jacrev(f)(W)


def hessian(f):
    return jacfwd(jacrev(f))


H = hessian(f)(W)
print("hessian, with shape", H.shape)
H2 = jax.hessian(lambda W: loss(W, b))(W)

# Push forward the vector `v` along `f` evaluated at `W`
v = jnp.array([1.0, -0.5, 2.0])
y, u = jvp(f, (W,), (v,))
# Pull back the covector `u` along `f` evaluated at `W`
y, vjp_fun = vjp(f, W)
(w_bar,) = vjp_fun(jnp.array([1.0, 0.5, -1.0, 2.0]))


def hvp(f, x, v):
    return grad(lambda x: jnp.vdot(grad(f)(x), v))(x)


hv = hvp(lambda W: loss(W, b), W, v)
d3 = grad(grad(grad(jnp.sin)))(0.7)
print(d3)
