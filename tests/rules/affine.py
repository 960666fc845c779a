import numpy as np

def affine_forward(x, w, b):
    out = x.reshape(x.shape[0], -1).dot(w) + b
    cache = (x, w, b)
    return out, cache

def affine_backward(dout, cache):
    x, w, b = cache
    dx = dout.dot(w.T).reshape(x.shape)
    dw = x.reshape(x.shape[0], -1).T.dot(dout)
    db = np.sum(dout, axis=0)
    return dx, dw, db

np.random.seed(231)
x = np.random.randn(3, 2, 2)
w = np.random.randn(4, 5)
b = np.random.randn(5)
out, cache = affine_forward(x, w, b)
loss = np.sum(out ** 2)
dx, dw, db = affine_backward(2 * out, cache)
