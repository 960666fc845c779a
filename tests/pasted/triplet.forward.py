import numpy as np

X = np.array([[1.0, 0.2, -0.4], [0.9, 0.1, -0.3], [-0.5, 0.8, 0.6], [-0.4, 1.0, 0.2], [0.1, -0.9, 0.7]])
W = np.array([[0.5, -0.3, 0.2], [0.1, 0.7, -0.6]])
triplets = [(0, 1, 2), (2, 3, 0), (4, 0, 1), (3, 2, 4)]
margin = 1.0

Z = X @ W.T
loss = 0.0
for a, p, n in triplets:
    d_pos = np.sum((Z[a] - Z[p]) ** 2)
    d_neg = np.sum((Z[a] - Z[n]) ** 2)
    loss += max(0.0, d_pos - d_neg + margin)
loss = loss / len(triplets)
