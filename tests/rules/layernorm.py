import numpy as np

def layernorm_forward(x, gamma, beta, ln_param):
    eps = ln_param.get("eps", 1e-5)
    mu = x.mean(axis=1, keepdims=True)
    var = x.var(axis=1, keepdims=True)
    std = np.sqrt(var + eps)
    x_hat = (x - mu) / std
    out = gamma * x_hat + beta
    cache = {"x_hat": x_hat, "std": std, "gamma": gamma}
    return out, cache

def layernorm_backward(dout, cache):
    x_hat, std, gamma = cache["x_hat"], cache["std"], cache["gamma"]
    D = x_hat.shape[1]
    dgamma = np.sum(dout * x_hat, axis=0)
    dbeta = np.sum(dout, axis=0)
    dx_hat = dout * gamma
    dx = (1.0 / D) / std * (D * dx_hat - dx_hat.sum(axis=1, keepdims=True)
                            - x_hat * np.sum(dx_hat * x_hat, axis=1, keepdims=True))
    return dx, dgamma, dbeta

np.random.seed(0)
x = np.random.randn(4, 5)
gamma = np.random.randn(5)
beta = np.random.randn(5)
dout = np.random.randn(4, 5)
out, cache = layernorm_forward(x, gamma, beta, {"mode": "train"})
dx, dgamma, dbeta = layernorm_backward(dout, cache)
loss = np.sum(out * dout)
