import numpy as np

def mlp_forward(X, params):
    W1, b1, W2, b2 = params["W1"], params["b1"], params["W2"], params["b2"]
    z1 = X @ W1 + b1
    a1 = np.maximum(0, z1)
    out = a1 @ W2 + b2
    return out, (X, z1, a1, W2)

def mlp_backward(dout, cache):
    X, z1, a1, W2 = cache
    grads = {}
    grads["W2"] = a1.T @ dout
    grads["b2"] = dout.sum(axis=0)
    da1 = dout @ W2.T
    dz1 = da1 * (z1 > 0)
    grads["W1"] = X.T @ dz1
    grads["b1"] = dz1.sum(axis=0)
    return grads

rng = np.random.default_rng(0)
params = {"W1": rng.normal(size=(3, 4)), "b1": np.zeros(4), "W2": rng.normal(size=(4, 2)), "b2": np.zeros(2)}
X = rng.normal(size=(5, 3))
out, cache = mlp_forward(X, params)
loss = np.sum(out ** 2)
grads = mlp_backward(2 * out, cache)
