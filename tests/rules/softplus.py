import jax
import jax.numpy as jnp

@jax.custom_vjp
def softplus(x):
    return jnp.logaddexp(x, 0.0)

def fwd(x):
    return softplus(x), x

def bwd(x, g):
    return (g * jax.nn.sigmoid(x),)

softplus.defvjp(fwd, bwd)
x = jnp.array([0.3, -2.0])
L = jnp.sum(softplus(x) ** 2)
g = jax.grad(lambda x: jnp.sum(softplus(x) ** 2))(x)
