import numpy as np


class TwoLayerNet(object):
    def __init__(self, input_size, hidden_size, output_size, std=1e-1):
        self.params = {}
        self.params['W1'] = std * np.random.randn(input_size, hidden_size)
        self.params['b1'] = np.zeros(hidden_size)
        self.params['W2'] = std * np.random.randn(hidden_size, output_size)
        self.params['b2'] = np.zeros(output_size)

    def loss(self, X, y=None, reg=0.0):
        W1, b1 = self.params['W1'], self.params['b1']
        W2, b2 = self.params['W2'], self.params['b2']
        N, D = X.shape

        h1 = np.maximum(0, np.dot(X, W1) + b1)
        scores = np.dot(h1, W2) + b2
        if y is None:
            return scores

        shift_scores = scores - np.max(scores, axis=1).reshape(-1, 1)
        softmax_output = np.exp(shift_scores) / np.sum(np.exp(shift_scores), axis=1).reshape(-1, 1)
        loss = -np.sum(np.log(softmax_output[range(N), list(y)]))
        loss /= N
        loss += reg * (np.sum(W1 * W1) + np.sum(W2 * W2))

        grads = {}
        dscores = softmax_output.copy()
        dscores[range(N), list(y)] += -1
        dscores /= N
        grads['W2'] = h1.T.dot(dscores) + 2 * reg * W2
        grads['b2'] = np.sum(dscores, axis=0)
        dh = dscores.dot(W2.T)
        dh_ReLu = (h1 > 0) * dh
        grads['W1'] = X.T.dot(dh_ReLu) + 2 * reg * W1
        grads['b1'] = np.sum(dh_ReLu, axis=0)
        return loss, grads


np.random.seed(0)
net = TwoLayerNet(4, 10, 3)
np.random.seed(1)
X = 10 * np.random.randn(5, 4)
y = np.array([0, 1, 2, 2, 1])
loss, grads = net.loss(X, y, reg=0.05)
