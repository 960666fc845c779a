import numpy as np

signal = np.array([0.2, -0.5, 1.0, 0.7, -0.3, 0.4, 0.9, -0.8, 0.1])
kernels = np.array([[0.5, -0.2, 0.3], [-0.4, 0.8, 0.1]])
bias = np.array([0.05, -0.1])
fc = np.array([0.7, -0.6, 0.4, 0.2, 0.9, -0.3])
y = 1

n_filters, k = kernels.shape
n_out = len(signal) - k + 1       # 7
conv = np.zeros((n_filters, n_out))
for f in range(n_filters):
    for i in range(n_out):
        conv[f, i] = np.sum(kernels[f] * signal[i:i + k]) + bias[f]
act = np.maximum(conv, 0.01 * conv)

# max pool, window 2, stride 2 (last element dropped)
pool = np.zeros((n_filters, 3))
for f in range(n_filters):
    for j in range(3):
        pool[f, j] = np.max(act[f, 2 * j:2 * j + 2])
score = np.dot(fc, pool.reshape(-1))
prob = 1 / (1 + np.exp(-score))
loss = -(y * np.log(prob) + (1 - y) * np.log(1 - prob))
