import numpy as np

def batchnorm_forward(x, gamma, beta, bn_param):
    eps = bn_param.get("eps", 1e-5)
    mean = x.mean(axis=0)
    var = x.var(axis=0)
    x_norm = (x - mean) / np.sqrt(var + eps)
    out = gamma * x_norm + beta
    cache = {"x": x, "mean": mean, "var": var, "x_norm": x_norm, "gamma": gamma, "eps": eps}
    return out, cache

def batchnorm_backward_alt(dout, cache):
    m = dout.shape[0]
    dxhat = dout * cache["gamma"]
    dgamma = (dout * cache["x_norm"]).sum(axis=0)
    dbeta = dout.sum(axis=0)
    std = np.sqrt(cache["var"] + cache["eps"])
    dx = (m * dxhat - dxhat.sum(axis=0) - cache["x_norm"] * (dxhat * cache["x_norm"]).sum(axis=0)) / (m * std)
    return dx, dgamma, dbeta

def batchnorm_backward(dout, cache):
    return batchnorm_backward_alt(dout, cache)

np.random.seed(0)
x = np.random.randn(4, 3)
gamma = np.random.randn(3)
beta = np.random.randn(3)
dout = np.random.randn(4, 3)
out, cache = batchnorm_forward(x, gamma, beta, {})
loss = (out * dout).sum()
dx, dgamma, dbeta = batchnorm_backward(dout, cache)
