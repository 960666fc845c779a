import jax
import jax.numpy as jnp

@jax.custom_vjp
def solve(A, b):
    return jnp.linalg.solve(A, b)

def solve_fwd(A, b):
    x = solve(A, b)
    return x, (A, x)

def solve_bwd(res, g):
    A, x = res
    u = jnp.linalg.solve(A.T, g)
    return -jnp.outer(u, x), u

solve.defvjp(solve_fwd, solve_bwd)

A = jnp.array([[3.0, 1.0, 0.2], [0.5, 2.0, -0.3], [0.1, 0.4, 1.5]])
b = jnp.array([1.0, -2.0, 0.5])
loss = lambda A, b: jnp.sum(jnp.sin(solve(A, b)))
gA, gb = jax.grad(loss, argnums=(0, 1))(A, b)
