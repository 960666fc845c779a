import numpy as np

class Dropout:
    def __init__(self, p=0.5):
        self.p = p

    def forward(self, x, train=True):
        if train:
            self.mask = np.random.rand(*x.shape) > self.p
            return x * self.mask / (1 - self.p)
        return x

    def backward(self, dout):
        return dout * self.mask / (1 - self.p)

class ELU:
    def __init__(self, alpha):
        self.alpha = alpha

    def forward(self, x):
        self.x = x
        self.y = np.where(x > 0, x, self.alpha * (np.exp(x) - 1))
        return self.y

    def backward(self, dy):
        return dy * np.where(self.x > 0, 1, self.y + self.alpha)

np.random.seed(3)
x = np.random.randn(3, 4)
drop = Dropout(0.3)
elu = ELU(0.8)
h = drop.forward(elu.forward(x))
loss = np.sum(h ** 3)
dx = elu.backward(drop.backward(3 * h ** 2))
