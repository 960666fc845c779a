import numpy as np

class MatMul:
    def __init__(self, W):
        self.params = [W]
        self.grads = [np.zeros_like(W)]
        self.x = None

    def forward(self, x):
        W, = self.params
        out = np.dot(x, W)
        self.x = x
        return out

    def backward(self, dout):
        W, = self.params
        dx = np.dot(dout, W.T)
        dW = np.dot(self.x.T, dout)
        self.grads[0][...] = dW
        return dx

W = 0.01 * np.random.randn(3, 3)
x = np.random.randn(4, 3)
layer = MatMul(W)
out = layer.forward(x)
loss = np.sum(out ** 2)
layer.backward(2 * out)
