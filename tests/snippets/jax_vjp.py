import jax, jax.numpy as jnp
from functools import partial
def layer_norm(x, scale, bias, eps=1e-5):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    var = jnp.var(x, axis=-1, keepdims=True)
    return scale * (x - mean) * jax.lax.rsqrt(var + eps) + bias
@partial(jax.jit, static_argnums=(2,))
def f(params, x, n):
    for _ in range(n):
        x = layer_norm(x, params['scale'], params['bias'])
        x = jax.nn.gelu(x @ params['w'])
    x = x.at[0].set(0.0)
    return jnp.sum(x ** 2)
params = dict(scale=jnp.ones(3), bias=jnp.zeros(3), w=jnp.eye(3) * 0.5)
x = jnp.array([[1., 2., 4.], [0.5, -1., 2.]])
y, vjp_fn = jax.vjp(lambda p: f(p, x, 2), params)
grads, = vjp_fn(1.0)
print(jax.tree_util.tree_map(lambda g: g.shape, grads))
