import numpy as np

def affine_forward(x, w, b):
    out = x.reshape(x.shape[0], -1).dot(w) + b
    cache = (x, w, b)
    return out, cache

def affine_backward(dout, cache):
    x, w, b = cache
    dx = dout.dot(w.T).reshape(x.shape)
    dw = x.reshape(x.shape[0], -1).T.dot(dout)
    db = dout.sum(axis=0)
    return dx, dw, db

def relu_forward(x):
    return np.maximum(0, x), x

def relu_backward(dout, cache):
    dx = dout.copy()
    dx[cache <= 0] = 0
    return dx

rng = np.random.default_rng(0)
x = rng.standard_normal((4, 3))
params = {'W1': rng.normal(0, 0.1, size=(3, 5)), 'b1': np.zeros(5), 'W2': rng.normal(0, 0.1, size=(5, 2)), 'b2': np.zeros(2)}
a1, fc_cache1 = affine_forward(x, params['W1'], params['b1'])
h1, relu_cache = relu_forward(a1)
scores, fc_cache2 = affine_forward(h1, params['W2'], params['b2'])
loss = 0.5 * np.sum(scores ** 2)
dscores = scores
dh1, dW2, db2 = affine_backward(dscores, fc_cache2)
da1 = relu_backward(dh1, relu_cache)
dx, dW1, db1 = affine_backward(da1, fc_cache1)
