import numpy as np

class MulLayer:
    def __init__(self):
        self.x = None
        self.y = None

    def forward(self, x, y):
        self.x = x
        self.y = y
        return x * y

    def backward(self, dout):
        dx = dout * self.y
        dy = dout * self.x
        return dx, dy

class SoftmaxWithLoss:
    def __init__(self):
        self.loss = None
        self.y = None
        self.t = None

    def forward(self, x, t):
        self.t = t
        x = x - np.max(x, axis=-1, keepdims=True)
        self.y = np.exp(x) / np.sum(np.exp(x), axis=-1, keepdims=True)
        self.loss = -np.sum(self.t * np.log(self.y + 1e-7)) / x.shape[0]
        return self.loss

    def backward(self, dout=1):
        batch_size = self.t.shape[0]
        dx = (self.y - self.t) / batch_size
        return dx

a = np.array([[1.0, -0.5, 0.3], [0.2, 0.9, -1.0]])
s = np.array([[0.7, 1.1, -0.4], [0.6, -0.8, 1.3]])
t = np.array([[0, 1, 0], [1, 0, 0]])
mul = MulLayer()
last = SoftmaxWithLoss()
z = mul.forward(a, s)
loss = last.forward(z, t)
dz = last.backward()
da, ds = mul.backward(dz)
