from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def clip_gradient(lo, hi, x):
    return x

def clip_gradient_fwd(lo, hi, x):
    return x, None

def clip_gradient_bwd(lo, hi, _, g):
    return (jnp.clip(g, lo, hi),)

clip_gradient.defvjp(clip_gradient_fwd, clip_gradient_bwd)

x = jnp.array([0.2, 0.5, 3.0])
loss = lambda x: jnp.sum(jnp.sin(clip_gradient(-0.75, 0.75, x)))
print(jax.grad(loss)(x))
