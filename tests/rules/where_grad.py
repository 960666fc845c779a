import jax
import jax.numpy as jnp
from functools import partial

def _fwd(x, eps):
    return safe_sqrt(x, eps), (x,)

@partial(jax.custom_vjp, nondiff_argnums=(1,))
def safe_sqrt(x, eps):
    return jnp.sqrt(jnp.maximum(x, eps))

def _bwd(eps, res, g):
    (x,) = res
    return (jnp.where(x > eps, g * 0.5 / jnp.sqrt(jnp.maximum(x, eps)), 0.0),)

safe_sqrt.defvjp(_fwd, _bwd)

@jax.jit
def loss_fn(params, x):
    h = safe_sqrt(params["w"] * x, 1e-3)
    return jnp.mean(h ** 3)

params = {"w": jnp.array([1.0, 2.0, 0.5])}
x = jnp.array([0.5, -1.0, 2.0])
loss, grads = jax.value_and_grad(loss_fn)(params, x)
