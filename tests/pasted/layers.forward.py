import numpy as np


class Linear:
    def __init__(self, W, b):
        self.W = W
        self.b = b

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b


class ReLU:
    def forward(self, x):
        self.mask = x > 0
        return x * self.mask


class SoftmaxCE:
    def forward(self, scores, y):
        e = np.exp(scores - scores.max(axis=1, keepdims=True))
        self.p = e / e.sum(axis=1, keepdims=True)
        self.y = y
        return -np.mean(np.log(self.p[np.arange(len(y)), y]))


X = np.array([[0.5, -1.2, 0.3], [1.1, 0.4, -0.7], [-0.3, 0.8, 1.5], [0.9, -0.6, 0.2]])
y = np.array([0, 1, 2, 1])
fc1 = Linear(np.array([[0.4, -0.3, 0.7, 0.2], [-0.6, 0.5, 0.1, -0.8], [0.3, 0.9, -0.2, 0.5]]), np.array([0.1, -0.05, 0.2, 0.02]))
act = ReLU()
fc2 = Linear(np.array([[0.2, -0.7, 0.4], [0.6, 0.3, -0.5], [-0.9, 0.8, 0.1], [0.35, -0.15, 0.75]]), np.array([0.05, -0.1, 0.15]))
criterion = SoftmaxCE()

h = fc1.forward(X)
a = act.forward(h)
scores = fc2.forward(a)
loss = criterion.forward(scores, y)
