import jax
import jax.numpy as jnp
from jax import lax

jax.config.update("jax_enable_x64", True)

params = {
    "Wx": jnp.array([[0.2, -0.3], [0.5, 0.1]]),
    "Wh": jnp.array([[0.4, 0.1], [-0.2, 0.3]]),
    "b": jnp.array([0.0, 0.1]),
    "Wo": jnp.array([1.0, -1.0]),
}
xs = jnp.array([[0.5, 1.0], [-1.0, 0.3], [0.2, -0.6]])
ys = jnp.array([0.1, -0.2, 0.3])


def rnn_loss(params, xs, ys):
    def step(h, x):
        h = jnp.tanh(params["Wx"] @ x + params["Wh"] @ h + params["b"])
        return h, params["Wo"] @ h

    h0 = jnp.zeros(2)
    hT, preds = lax.scan(step, h0, xs)
    return jnp.mean((preds - ys) ** 2) + 0.1 * jnp.sum(hT ** 2)


loss, grads = jax.value_and_grad(rnn_loss)(params, xs, ys)
print(loss, grads)


def power(x, n):
    return lax.fori_loop(0, n, lambda i, acc: acc * x, 1.0)


def huber(r, delta=1.0):
    return lax.cond(jnp.abs(r) <= delta, lambda r: 0.5 * r ** 2, lambda r: delta * (jnp.abs(r) - 0.5 * delta), r)


def newton_sqrt(a):
    def cond_fun(val):
        i, x = val
        return i < 6

    def body_fun(val):
        i, x = val
        return i + 1, 0.5 * (x + a / x)

    return lax.while_loop(cond_fun, body_fun, (0, a))[1]


cube = power(1.3, 3)
dh = jax.grad(huber)(2.5)
dh2 = jax.vmap(jax.grad(huber))(jnp.array([-3.0, 0.4, 1.7]))
root = newton_sqrt(2.0)
sgn = lax.select(jnp.array([True, False]), jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0]))
total, partial_sums = lax.scan(lambda c, x: (c + x, c + x), 0.0, jnp.array([1.0, 2.0, 3.0]))
print(cube, dh, dh2, root, sgn, partial_sums)
