import numpy as np

def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))

X = np.array([[0.2, 0.9, 0.4], [0.7, 0.1, 0.5], [0.3, 0.6, 0.8], [0.9, 0.4, 0.1]])
W = np.array([[0.3, -0.5], [0.8, 0.1], [-0.4, 0.6]])
b_enc = np.array([0.1, -0.2])
b_dec = np.array([0.05, 0.0, -0.1])
weight_decay = 0.01
n = X.shape[0]

# encoder / decoder share W
H = sigmoid(X @ W + b_enc)
X_hat = sigmoid(H @ W.T + b_dec)
loss = 0.5 * np.sum((X_hat - X) ** 2) / n + 0.5 * weight_decay * np.sum(W ** 2)
