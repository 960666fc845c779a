import numpy as np

# one picture, one filter, ReLU, dropout, 2x2 max pool, a linear read-out
img = np.array([[0.5, -1.2, 0.3, 0.8, -0.1], [1.1, 0.4, -0.7, -0.5, 0.6], [-0.3, 0.8, 1.5, 0.2, -0.9],
                [0.9, -0.6, 0.25, 0.7, 1.3], [-0.4, 0.55, -1.1, 0.35, 0.15]])
k = np.array([[0.6, -0.4], [0.3, 0.8]])
bias = 0.2
mask = np.array([[1, 0, 1, 1], [1, 1, 1, 0], [0, 1, 1, 1], [1, 1, 0, 1]])
p = 0.75
w_out = np.array([[0.7, -0.5], [0.4, 0.9]])
t = 1.5

conv = np.zeros((4, 4))
for i in range(4):
    for j in range(4):
        conv[i, j] = np.sum(img[i:i+2, j:j+2] * k) + bias
r = np.maximum(conv, 0)
drop = r * mask / p
pooled = np.zeros((2, 2))
for i in range(2):
    for j in range(2):
        pooled[i, j] = np.max(drop[2*i:2*i+2, 2*j:2*j+2])
yhat = np.sum(pooled * w_out)
loss = 0.5 * (yhat - t) ** 2
