import numpy as np

class BatchNorm:
    def __init__(self, d, momentum=0.9):
        self.gamma = np.ones(d)
        self.beta = np.zeros(d)
        self.running_mean = np.zeros(d)
        self.running_var = np.ones(d)
        self.momentum = momentum

    def __call__(self, x, training=True):
        if training:
            mu = x.mean(axis=0)
            xc = x - mu
            var = np.mean(xc ** 2, axis=0)
            std = np.sqrt(var + 10e-7)
            xn = xc / std
            self.batch_size = x.shape[0]
            self.xc = xc
            self.xn = xn
            self.std = std
            self.running_mean = self.momentum * self.running_mean + (1 - self.momentum) * mu
            self.running_var = self.momentum * self.running_var + (1 - self.momentum) * var
        else:
            xn = (x - self.running_mean) / np.sqrt(self.running_var + 10e-7)
        return self.gamma * xn + self.beta

    def backward(self, dout):
        dbeta = dout.sum(axis=0)
        dgamma = np.sum(self.xn * dout, axis=0)
        dxn = self.gamma * dout
        dxc = dxn / self.std
        dstd = -np.sum((dxn * self.xc) / (self.std * self.std), axis=0)
        dvar = 0.5 * dstd / self.std
        dxc += (2.0 / self.batch_size) * self.xc * dvar
        dmu = np.sum(dxc, axis=0)
        dx = dxc - dmu / self.batch_size
        self.dgamma = dgamma
        self.dbeta = dbeta
        return dx

x = np.random.randn(4, 3)
bn = BatchNorm(3)
y = bn(x)
loss = np.sum(y ** 3)
dx = bn.backward(3 * y ** 2)
