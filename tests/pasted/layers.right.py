class Linear:
    def __init__(self, W, b):
        self.W = W
        self.b = b

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dout):
        self.dW = self.x.T @ dout
        self.db = dout.sum(axis=0)
        return dout @ self.W.T


class ReLU:
    def forward(self, x):
        self.mask = x > 0
        return x * self.mask

    def backward(self, dout):
        return dout * self.mask


class SoftmaxCE:
    def forward(self, scores, y):
        e = np.exp(scores - scores.max(axis=1, keepdims=True))
        self.p = e / e.sum(axis=1, keepdims=True)
        self.y = y
        return -np.mean(np.log(self.p[np.arange(len(y)), y]))

    def backward(self):
        d = self.p.copy()
        d[np.arange(len(self.y)), self.y] -= 1
        return d / len(self.y)


fc1 = Linear(np.array([[0.4, -0.3, 0.7, 0.2], [-0.6, 0.5, 0.1, -0.8], [0.3, 0.9, -0.2, 0.5]]), np.array([0.1, -0.05, 0.2, 0.02]))
act = ReLU()
fc2 = Linear(np.array([[0.2, -0.7, 0.4], [0.6, 0.3, -0.5], [-0.9, 0.8, 0.1], [0.35, -0.15, 0.75]]), np.array([0.05, -0.1, 0.15]))
criterion = SoftmaxCE()

h = fc1.forward(X)
a = act.forward(h)
scores = fc2.forward(a)
loss = criterion.forward(scores, y)

dscores = criterion.backward()
da = fc2.backward(dscores)
dh = act.backward(da)
dX = fc1.backward(dh)
