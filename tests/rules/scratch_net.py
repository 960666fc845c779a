import numpy as np

class Relu:
    def __init__(self):
        self.mask = None

    def forward(self, x):
        self.mask = (x <= 0)
        out = x.copy()
        out[self.mask] = 0
        return out

    def backward(self, dout):
        dout[self.mask] = 0
        dx = dout
        return dx

class Affine:
    def __init__(self, W, b):
        self.W = W
        self.b = b
        self.x = None
        self.dW = None
        self.db = None

    def forward(self, x):
        self.x = x
        out = np.dot(x, self.W) + self.b
        return out

    def backward(self, dout):
        dx = np.dot(dout, self.W.T)
        self.dW = np.dot(self.x.T, dout)
        self.db = np.sum(dout, axis=0)
        return dx

class Sigmoid:
    def __init__(self):
        self.out = None

    def forward(self, x):
        out = 1 / (1 + np.exp(-x))
        self.out = out
        return out

    def backward(self, dout):
        dx = dout * (1.0 - self.out) * self.out
        return dx

W1 = np.array([[0.5, -0.3], [0.8, 0.2], [-0.1, 0.6]])
b1 = np.array([0.1, -0.2])
W2 = np.array([[0.3, -0.9], [-0.5, 0.7]])
b2 = np.array([0.0, 0.2])
x = np.array([[1.0, 2.0, -1.5], [0.3, -1.0, 0.9]])

layer1 = Affine(W1, b1)
act = Relu()
layer2 = Affine(W2, b2)
sig = Sigmoid()
y = sig.forward(layer2.forward(act.forward(layer1.forward(x))))
loss = np.sum(y ** 2)
dout = 2 * y
dx = layer1.backward(act.backward(layer2.backward(sig.backward(dout))))
