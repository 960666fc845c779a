import jax
import jax.numpy as jnp
from jax import grad, value_and_grad

def sigmoid(x):
    return 1 / (1 + jnp.exp(-x))

@jax.jit
def loss(W, b, X, y):
    preds = sigmoid(X @ W + b)
    return -jnp.mean(y * jnp.log(preds) + (1 - y) * jnp.log(1 - preds))

X = jnp.array([[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.30], [0.74, -2.49, 1.39]])
y = jnp.array([1.0, 1.0, 0.0, 1.0])
W = jnp.array([0.1, -0.2, 0.3])
b = 0.0
W_grad, b_grad = grad(loss, argnums=(0, 1))(W, b, X, y)
print(W_grad, b_grad)
loss_value, Wb_grad = value_and_grad(loss, (0, 1))(W, b, X, y)
