import jax.numpy as jnp
from jax import grad, jit, vmap, random, lax
import jax
def rnn_step(params, h, x):
    Wh, Wx, b = params
    return jnp.tanh(Wh @ h + Wx @ x + b)
def rnn_loss(params, xs, target):
    h = jnp.zeros(2)
    for x in xs:
        h = rnn_step(params, h, x)
    return 0.5 * jnp.sum((h - target) ** 2)
key = random.key(0)
k1, k2 = random.split(key)
params = (random.normal(k1, (2, 2)) * 0.5, random.normal(k2, (2, 3)) * 0.5, jnp.zeros(2))
xs = jnp.arange(12.0).reshape(4, 3) / 10
target = jnp.array([0.2, -0.1])
loss_grad = jit(value_and_grad := jax.value_and_grad(rnn_loss))
l, g = loss_grad(params, xs, target)
