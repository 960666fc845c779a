import numpy as np

def sigmoid(z):
    return 1 / (1 + np.exp(-z))

X = np.array([[0.5, -1.2], [1.1, 0.4], [-0.3, 0.8], [0.7, -0.9]])
y = np.array([[1.0], [0.0], [1.0], [0.0]])
W1 = np.array([[0.4, -0.3, 0.7], [-0.6, 0.5, 0.1]])
b1 = np.array([0.1, -0.05, 0.2])
W2 = np.array([[0.8], [-0.7], [0.45]])
b2 = np.array([0.15])
m = 4

z1 = X @ W1 + b1
a1 = sigmoid(z1)
z2 = a1 @ W2 + b2
a2 = sigmoid(z2)
loss = -np.mean(y * np.log(a2) + (1 - y) * np.log(1 - a2))
