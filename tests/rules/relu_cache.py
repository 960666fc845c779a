import numpy as np

def affine_forward(x, w, b):
    return x @ w + b, (x, w, b)

def affine_backward(dout, cache):
    x, w, b = cache
    return dout @ w.T, x.T @ dout, dout.sum(axis=0)

def relu_forward(x):
    out = np.maximum(0, x)
    cache = x
    return out, cache

def relu_backward(dout, cache):
    dx, x = None, cache
    dx = dout * (x > 0)
    return dx

def affine_relu_forward(x, w, b):
    a, fc_cache = affine_forward(x, w, b)
    out, relu_cache = relu_forward(a)
    cache = (fc_cache, relu_cache)
    return out, cache

def affine_relu_backward(dout, cache):
    fc_cache, relu_cache = cache
    da = relu_backward(dout, relu_cache)
    dx, dw, db = affine_backward(da, fc_cache)
    return dx, dw, db

np.random.seed(231)
x = np.random.randn(2, 3)
w = np.random.randn(3, 4)
b = np.random.randn(4)
dout = np.random.randn(2, 4)
out, cache = affine_relu_forward(x, w, b)
dx, dw, db = affine_relu_backward(dout, cache)
loss = np.sum(out * dout)
