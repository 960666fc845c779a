import jax
import jax.numpy as jnp
from jax import grad, jit, vmap, random

def init_mlp(sizes, key):
    keys = random.split(key, len(sizes))
    return [(random.normal(k, (n, m)) * 0.1, jnp.zeros((n,))) for m, n, k in zip(sizes[:-1], sizes[1:], keys)]

def predict(params, image):
    activations = image
    for w, b in params[:-1]:
        outputs = jnp.dot(w, activations) + b
        activations = jax.nn.relu(outputs)
    final_w, final_b = params[-1]
    logits = jnp.dot(final_w, activations) + final_b
    return logits - jax.nn.logsumexp(logits)

batched_predict = vmap(predict, in_axes=(None, 0))

def loss(params, images, targets):
    preds = batched_predict(params, images)
    return -jnp.mean(preds * targets)

@jit
def update(params, x, y):
    grads = grad(loss)(params, x, y)
    return [(w - 0.01 * dw, b - 0.01 * db) for (w, b), (dw, db) in zip(params, grads)]

params = init_mlp([3, 4, 2], random.PRNGKey(0))
images = jnp.array([[1.0, 0.0, 0.5], [0.2, 0.8, -0.1]])
targets = jax.nn.one_hot(jnp.array([0, 1]), 2)
for epoch in range(3):
    params = update(params, images, targets)
