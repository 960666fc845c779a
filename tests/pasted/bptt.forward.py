import numpy as np


def softmax(v):
    e = np.exp(v - np.max(v))
    return e / np.sum(e)


class RNNNumpy:
    def __init__(self, U, V, W, bptt_truncate=4):
        self.word_dim = U.shape[1]
        self.hidden_dim = U.shape[0]
        self.bptt_truncate = bptt_truncate
        self.U = U
        self.V = V
        self.W = W

    def forward_propagation(self, x):
        T = len(x)
        # we add one additional element for the initial hidden, which we set to 0
        s = np.zeros((T + 1, self.hidden_dim))
        s[-1] = np.zeros(self.hidden_dim)
        o = np.zeros((T, self.word_dim))
        for t in np.arange(T):
            # indexing U by x[t] is the same as multiplying U with a one-hot vector
            s[t] = np.tanh(self.U[:, x[t]] + self.W.dot(s[t-1]))
            o[t] = softmax(self.V.dot(s[t]))
        return [o, s]

    def calculate_loss(self, x, y):
        o, s = self.forward_propagation(x)
        correct_word_predictions = o[np.arange(len(y)), y]
        return -1 * np.sum(np.log(correct_word_predictions))


U = np.array([[0.3, -0.5, 0.2, 0.7], [-0.4, 0.6, 0.1, -0.2]])
V = np.array([[0.6, -0.3], [-0.2, 0.5], [0.1, -0.8], [0.4, 0.7]])
W = np.array([[0.2, -0.6], [0.5, 0.3]])
model = RNNNumpy(U, V, W)
x = [0, 2, 1]
y = [2, 1, 3]
o, s = model.forward_propagation(x)
loss = model.calculate_loss(x, y)
