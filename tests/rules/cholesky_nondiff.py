from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.custom_vjp, nondiff_argnums=(1,))
def power(x, n):
    return x ** n

def power_fwd(x, n):
    return power(x, n), (x,)

def power_bwd(n, res, g):
    (x,) = res
    return (n * x ** (n - 1) * g,)

power.defvjp(power_fwd, power_bwd)

@jax.custom_vjp
def logdet(A):
    L = jnp.linalg.cholesky(A)
    return 2 * jnp.sum(jnp.log(jnp.diag(L)))

def logdet_fwd(A):
    return logdet(A), A

def logdet_bwd(A, g):
    return (g * jnp.linalg.inv(A).T,)

logdet.defvjp(logdet_fwd, logdet_bwd)

B = jnp.array([[1.0, 0.2], [0.4, 1.5]])
loss = lambda B: logdet(B @ B.T + 0.1 * jnp.eye(2)) + jnp.sum(power(B, 3))
print(jax.grad(loss)(B))
