import numpy as np

def sigmoid(x):
    return 1 / (1 + np.exp(-x))

class GRUCell:
    def __init__(self):
        self.Wz = np.array([[0.1, 0.2, -0.3, 0.4], [0.5, -0.1, 0.2, 0.3]])
        self.Wr = np.array([[-0.2, 0.6, 0.1, -0.5], [0.3, 0.2, -0.4, 0.1]])
        self.Wh = np.array([[0.7, -0.3, 0.2, 0.1], [-0.6, 0.4, 0.5, -0.2]])
        self.cache = []

    def forward(self, x, h_prev):
        xh = np.concatenate([x, h_prev])
        z = sigmoid(self.Wz @ xh)
        r = sigmoid(self.Wr @ xh)
        xrh = np.concatenate([x, r * h_prev])
        hh = np.tanh(self.Wh @ xrh)
        h = (1 - z) * h_prev + z * hh
        self.cache.append((xh, z, r, xrh, hh, h_prev))
        return h

xs = [np.array([1.0, -0.5]), np.array([0.3, 0.8]), np.array([-0.7, 0.2])]
target = np.array([0.4, -0.6])
cell = GRUCell()
h0 = np.array([0.1, -0.2])
h = h0
for x in xs:
    h = cell.forward(x, h)
loss = 0.5 * np.sum((h - target) ** 2)
