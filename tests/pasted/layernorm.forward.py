import numpy as np

N, C = 3, 4
eps = 1e-5
x = np.array([[0.5, -1.2, 0.3, 0.8], [1.1, 0.4, -0.7, -0.5], [-0.3, 0.8, 1.5, 0.2]])
weight = np.array([1.2, 0.8, -0.5, 1.5])
bias = np.array([0.1, -0.3, 0.2, 0.05])
target = np.array([[0.2, -0.4, 0.1, 0.6], [0.7, 0.3, -0.2, -0.9], [-0.5, 0.6, 0.9, 0.0]])

mean = np.zeros(N)
rstd = np.zeros(N)
out = np.zeros((N, C))
for n in range(N):
    m = 0.0
    for c in range(C):
        m += x[n, c]
    m = m / C
    v = 0.0
    for c in range(C):
        v += (x[n, c] - m) ** 2
    v = v / C
    s = 1.0 / np.sqrt(v + eps)
    for c in range(C):
        out[n, c] = s * (x[n, c] - m) * weight[c] + bias[c]
    mean[n] = m
    rstd[n] = s

loss = 0.5 * np.sum((out - target) ** 2)
