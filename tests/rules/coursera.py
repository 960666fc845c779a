import numpy as np

def linear_forward(A, W, b):
    Z = W.dot(A) + b
    cache = (A, W, b)
    return Z, cache

def linear_backward(dZ, cache):
    A_prev, W, b = cache
    dW = np.dot(dZ, A_prev.T)
    db = np.sum(dZ, axis=1, keepdims=True)
    dA_prev = np.dot(W.T, dZ)
    return dA_prev, dW, db

np.random.seed(1)
A = np.random.randn(3, 4)
W = np.random.randn(2, 3)
b = np.random.randn(2, 1)
Z, linear_cache = linear_forward(A, W, b)
loss = np.sum(Z ** 2)
dA_prev, dW, db = linear_backward(2 * Z, linear_cache)
