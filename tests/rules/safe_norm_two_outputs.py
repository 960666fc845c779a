import jax
import jax.numpy as jnp

@jax.custom_vjp
def polar(x, y):
    return jnp.sqrt(x**2 + y**2), jnp.arctan2(y, x)

def polar_fwd(x, y):
    r, t = polar(x, y)
    return (r, t), (x, y, r)

def polar_bwd(res, cts):
    x, y, r = res
    gr, gt = cts
    gx = gr * x / r - gt * y / r**2
    gy = gr * y / r + gt * x / r**2
    return gx, gy

polar.defvjp(polar_fwd, polar_bwd)

def loss(x, y):
    r, t = polar(x, y)
    return jnp.sum(r * t)

x = jnp.array([1.0, 0.5]); y = jnp.array([-0.3, 2.0])
print(jax.value_and_grad(loss, argnums=(0, 1))(x, y))
