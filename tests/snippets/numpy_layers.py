import numpy as np

class Dense:
    def __init__(self, W, b):
        self.W = W
        self.b = b
    def forward(self, x):
        self.x = x
        return x @ self.W + self.b
    def backward(self, dout):
        self.dW = self.x.T @ dout
        self.db = np.sum(dout, axis=0)
        return dout @ self.W.T

class ReLU:
    def forward(self, x):
        self.mask = x > 0
        return x * self.mask
    def backward(self, dout):
        return dout * self.mask

class SoftmaxLoss:
    def forward(self, x, t):
        e = np.exp(x - np.max(x, axis=1, keepdims=True))
        self.p = e / e.sum(axis=1, keepdims=True)
        self.t = t
        return -np.mean(np.log(self.p[np.arange(len(t)), t]))
    def backward(self):
        dx = self.p.copy()
        dx[np.arange(len(self.t)), self.t] -= 1
        return dx / len(self.t)

X = np.array([[1.0, 2.0], [-0.5, 0.3], [0.2, -0.7]])
t = np.array([0, 1, 1])
layers = [Dense(np.array([[0.1, -0.2, 0.3], [0.4, 0.5, -0.6]]), np.zeros(3)), ReLU(), Dense(np.array([[0.2, -0.1], [0.3, 0.4], [-0.5, 0.6]]), np.zeros(2))]
criterion = SoftmaxLoss()

out = X
for layer in layers:
    out = layer.forward(out)
loss = criterion.forward(out, t)

dout = criterion.backward()
for layer in reversed(layers):
    dout = layer.backward(dout)
