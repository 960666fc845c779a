import numpy as np

T, C, d = 3, 4, 2
X = np.array([[0.5, -1.2, 0.3, 0.8], [1.1, 0.4, -0.7, -0.5], [-0.3, 0.8, 1.5, 0.2]])
Wq = np.array([[0.4, -0.3], [0.7, 0.2], [-0.6, 0.5], [0.1, -0.8]])
Wk = np.array([[0.3, 0.9], [-0.2, 0.5], [0.6, -0.4], [0.35, 0.15]])
Wv = np.array([[0.2, -0.7], [0.4, 0.6], [-0.5, 0.3], [0.9, 0.1]])
Y = np.array([[0.3, -0.2], [0.5, 0.1], [-0.4, 0.6]])

Q = X @ Wq
K = X @ Wk
V = X @ Wv
S = Q @ K.T / np.sqrt(d)
A = np.zeros((T, T))
for i in range(T):
    e = np.exp(S[i] - np.max(S[i]))
    A[i] = e / e.sum()
O = A @ V
loss = 0.5 * np.sum((O - Y) ** 2) / T
