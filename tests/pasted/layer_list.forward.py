import numpy as np

class Dense:
    def __init__(self, W, b):
        self.W = W
        self.b = b

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, grad):
        self.dW = self.x.T @ grad
        self.db = np.sum(grad, axis=0)
        return grad @ self.W.T

class LeakyReLU:
    def __init__(self, slope=0.1):
        self.slope = slope

    def forward(self, x):
        self.mask = x > 0
        return np.where(self.mask, x, self.slope * x)

    def backward(self, grad):
        return np.where(self.mask, grad, self.slope * grad)

class Dropout:
    def __init__(self, mask, keep):
        self.mask = mask
        self.keep = keep

    def forward(self, x):
        return x * self.mask / self.keep

    def backward(self, grad):
        return grad * self.mask / self.keep

class Tanh:
    def forward(self, x):
        self.y = np.tanh(x)
        return self.y

    def backward(self, grad):
        return grad * (1 - self.y ** 2)

X = np.array([[0.4, -0.7], [1.1, 0.2], [-0.3, 0.9]])
Y = np.array([[0.5], [-0.4], [0.8]])
layers = [
    Dense(np.array([[0.3, -0.6, 0.2, 0.9], [0.7, 0.4, -0.5, 0.1]]), np.array([0.1, -0.1, 0.2, 0.0])),
    LeakyReLU(0.1),
    Dropout(np.array([[1, 0, 1, 1], [1, 1, 0, 1], [0, 1, 1, 1]]), 0.75),
    Dense(np.array([[0.5, -0.2], [0.8, 0.3], [-0.4, 0.6], [0.1, -0.7]]), np.array([0.05, -0.05])),
    Tanh(),
    Dense(np.array([[0.9], [-1.1]]), np.array([0.2])),
]
out = X
for layer in layers:
    out = layer.forward(out)
loss = np.mean((out - Y) ** 2)
