import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import grad, jit, random, value_and_grad, vmap

jax.config.update("jax_enable_x64", True)


class Params(NamedTuple):
    weight: jnp.ndarray
    bias: jnp.ndarray


def relu_layer(params, x):
    return jax.nn.relu(params.weight @ x + params.bias)


def predict(params, image):
    activations = image
    for layer in params[:-1]:
        activations = relu_layer(layer, activations)
    final = params[-1]
    logits = jnp.dot(final.weight, activations) + final.bias
    return logits - jax.scipy.special.logsumexp(logits)


batched_predict = vmap(predict, in_axes=(None, 0))


def one_hot(x, k, dtype=jnp.float64):
    """Create a one-hot encoding of x of size k."""
    return jnp.array(x[:, None] == jnp.arange(k), dtype)


def loss(params, images, targets):
    preds = batched_predict(params, images)
    return -jnp.mean(jnp.sum(preds * targets, axis=1))


@functools.partial(jax.jit, static_argnames=("lr",))
def update(params, x, y, lr=0.1):
    value, grads = value_and_grad(loss)(params, x, y)
    new = jax.tree_util.tree_map(lambda p, g: p - lr * g, params, grads)
    return new, value, grads


params = [
    Params(jnp.sin(jnp.arange(12.0)).reshape(4, 3), jnp.array([0.1, 0.2, -0.1, 0.3])),
    Params(jnp.cos(jnp.arange(8.0)).reshape(2, 4), jnp.zeros(2)),
]
x = jnp.array([[0.5, -1.0, 2.0], [1.5, 0.3, -0.7]])
y = one_hot(jnp.array([1, 0]), 2)

for _ in range(2):
    params, value, grads = update(params, x, y)
print("loss", value)
print(grads[0].weight)

params_dict = {"enc": {"w": jnp.array([[0.3, -0.2], [0.8, 0.5]]), "b": jnp.array([0.1, -0.4])}, "scale": (jnp.array(1.5), [jnp.array(0.2)])}


def tree_loss(p, x):
    hidden = jnp.tanh(x @ p["enc"]["w"] + p["enc"]["b"])
    s, (c,) = p["scale"]
    l2 = sum(jnp.sum(leaf ** 2) for leaf in jax.tree_util.tree_leaves(p))
    return s * jnp.sum(hidden) + c + 0.01 * l2


tree_grads = grad(tree_loss)(params_dict, jnp.array([0.7, -1.1]))
print(tree_grads["enc"]["w"])
norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree.leaves(tree_grads)))
