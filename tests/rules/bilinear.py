import jax
import jax.numpy as jnp

@jax.custom_vjp
def bilinear(x, W, y):
    return jnp.einsum("bi,ij,bj->b", x, W, y)

def fwd(x, W, y):
    return bilinear(x, W, y), (x, W, y)

def bwd(res, g):
    x, W, y = res
    dx = jnp.einsum("b,ij,bj->bi", g, W, y)
    dW = jnp.einsum("b,bi,bj->ij", g, x, y)
    dy = jnp.einsum("b,bi,ij->bj", g, x, W)
    return dx, dW, dy

bilinear.defvjp(fwd, bwd)

key = jax.random.PRNGKey(0)
x = jnp.array([[0.1, 0.2, -0.4], [1.0, -1.0, 0.5]])
W = jnp.array([[1.0, 0.3, 0.2], [-0.5, 0.8, 0.1], [0.2, 0.6, -0.9]])
y = jnp.array([[0.7, -0.2, 0.3], [0.4, 0.9, -1.1]])
out = jnp.sum(jnp.tanh(bilinear(x, W, y)))
g = jax.grad(lambda x, W, y: jnp.sum(jnp.tanh(bilinear(x, W, y))), argnums=(0, 1, 2))(x, W, y)
