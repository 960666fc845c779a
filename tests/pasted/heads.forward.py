import numpy as np

def softmax(a):
    e = np.exp(a - np.max(a, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)

num_heads = 2
d_head = 2
X = np.array([[0.5, -0.1, 0.3, 0.8], [0.2, 0.7, -0.4, 0.1], [-0.6, 0.4, 0.9, -0.3]])
Wq = 0.1 * np.array([[1, -2, 3, 0], [4, 1, -1, 2], [0, 3, 2, -4], [-3, 1, 5, 2]])
Wk = 0.1 * np.array([[2, 1, 0, -1], [-3, 2, 4, 1], [1, -1, 2, 3], [0, 4, -2, 1]])
Wv = 0.1 * np.array([[3, 0, -1, 2], [1, 5, 2, -2], [-4, 1, 3, 0], [2, 2, -3, 1]])
Wo = 0.1 * np.array([[1, 2, -3, 4], [0, -1, 2, 5], [3, 1, 1, -2], [-2, 4, 0, 1]])
T = np.array([[1.0, 0.0, 0.5, -0.5], [0.2, 0.1, -0.3, 0.4], [0.0, 0.6, 0.7, -0.8]])

Q = X @ Wq
K = X @ Wk
V = X @ Wv
heads = []
for h in range(num_heads):
    sl = slice(h * d_head, (h + 1) * d_head)
    A = softmax(Q[:, sl] @ K[:, sl].T / np.sqrt(d_head))
    heads.append(A @ V[:, sl])
C = np.concatenate(heads, axis=1)
O = C @ Wo
loss = np.mean((O - T) ** 2)
