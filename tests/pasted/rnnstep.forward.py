import numpy as np


def rnn_step_forward(x, prev_h, Wx, Wh, b):
    next_h = np.tanh(x.dot(Wx) + prev_h.dot(Wh) + b)
    cache = (x, prev_h, Wx, Wh, next_h)
    return next_h, cache


def rnn_forward(x, h0, Wx, Wh, b):
    N, T, D = x.shape
    H = h0.shape[1]
    h = np.zeros((N, T, H))
    cache = []
    prev_h = h0
    for t in range(T):
        prev_h, cache_t = rnn_step_forward(x[:, t, :], prev_h, Wx, Wh, b)
        h[:, t, :] = prev_h
        cache.append(cache_t)
    return h, cache


x = np.array([[[0.5, -1.2], [0.3, 0.8], [1.1, -0.4]], [[-0.7, 0.6], [0.9, 0.2], [-0.3, 1.5]]])
h0 = np.array([[0.1, -0.3, 0.2], [0.4, 0.0, -0.2]])
Wx = np.array([[0.4, -0.6, 0.2], [0.7, 0.5, -0.1]])
Wh = np.array([[0.3, -0.8, 0.5], [0.6, 0.2, -0.4], [0.1, 0.45, -0.7]])
b = np.array([0.1, -0.2, 0.05])
target = np.array([[[0.2, -0.1, 0.4], [0.5, 0.4, -0.6], [-0.3, 0.6, 0.1]], [[0.3, 0.2, -0.5], [-0.4, 0.1, 0.7], [0.0, -0.2, 0.3]]])

h, cache = rnn_forward(x, h0, Wx, Wh, b)
loss = 0.5 * np.sum((h - target) ** 2)
