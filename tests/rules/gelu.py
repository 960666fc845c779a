import jax
import jax.numpy as jnp

@jax.custom_vjp
def gelu(x):
    return 0.5 * x * (1 + jnp.tanh(jnp.sqrt(2 / jnp.pi) * (x + 0.044715 * x**3)))

def gelu_fwd(x):
    return gelu(x), x

def gelu_bwd(x, g):
    c = jnp.sqrt(2 / jnp.pi)
    t = jnp.tanh(c * (x + 0.044715 * x**3))
    dt = (1 - t**2) * c * (1 + 3 * 0.044715 * x**2)
    return (g * (0.5 * (1 + t) + 0.5 * x * dt),)

gelu.defvjp(gelu_fwd, gelu_bwd)

x = jnp.array([-1.2, 0.4, 0.9, 2.0])
def loss(x):
    return jnp.sum(gelu(x) ** 2)
grads = jax.grad(loss)(x)
