import numpy as np
X = np.array([[0.5, 1.2], [-0.7, 0.4], [1.5, -0.3], [-1.1, -0.8]])
y = np.array([1, 0, 1, 0])
w = np.array([0.3, -0.4])
b = 0.1
C = 0.2
m = len(y)
z = X.dot(w) + b
# numerically stable log-loss
losses = np.maximum(z, 0) - z * y + np.log1p(np.exp(-np.abs(z)))
L = losses.sum() / m + C / (2 * m) * np.sum(np.square(w))
