import numpy as np

N = 3
x = np.array([[0.5, -1.2, 0.3, 0.9], [1.1, 0.4, -0.7, -0.2], [-0.3, 0.8, 1.5, 0.6]])
w = np.array([[0.4, -0.3], [-0.6, 0.5], [0.3, 0.9], [0.2, -0.8]])
b = np.array([0.1, -0.25])
target = np.array([[0.3, -0.6], [0.8, 0.2], [-0.4, 0.7]])


def forward(x, w, b):
    z = x.dot(w) + b
    out = np.tanh(z)
    cache = (x, w, out)
    return out, cache


out, cache = forward(x, w, b)
loss = np.sum((out - target) ** 2) / N
