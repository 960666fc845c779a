import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


H = 2
D = 2
T = 3
x = [np.array([0.5, -1.0]), np.array([1.2, 0.3]), np.array([-0.4, 0.8])]
y = [np.array([0.2, -0.1]), np.array([0.5, 0.4]), np.array([-0.3, 0.6])]
# every gate sees the stacked vector [h_prev, x]
Wf = np.array([[0.3, -0.2, 0.5, 0.1], [0.4, 0.6, -0.7, 0.2]])
Wi = np.array([[-0.5, 0.3, 0.2, 0.8], [0.1, -0.4, 0.6, -0.3]])
Wc = np.array([[0.7, 0.2, -0.6, 0.4], [-0.3, 0.5, 0.9, 0.1]])
Wo = np.array([[0.2, 0.6, 0.3, -0.5], [-0.8, 0.1, 0.4, 0.7]])
bf = np.array([0.5, 0.4])
bi = np.array([0.1, -0.1])
bc = np.array([0.0, 0.2])
bo = np.array([-0.2, 0.3])
Wy = np.array([[0.9, -0.4], [0.3, 0.7]])
by = np.array([0.05, -0.15])

h, c = {}, {}
z, f, i, g, o, yhat = {}, {}, {}, {}, {}, {}
h[-1] = np.array([0.1, -0.2])
c[-1] = np.array([0.3, 0.15])
loss = 0.0
for t in range(T):
    z[t] = np.concatenate([h[t-1], x[t]])
    f[t] = sigmoid(Wf @ z[t] + bf)
    i[t] = sigmoid(Wi @ z[t] + bi)
    g[t] = np.tanh(Wc @ z[t] + bc)
    o[t] = sigmoid(Wo @ z[t] + bo)
    c[t] = f[t] * c[t-1] + i[t] * g[t]
    h[t] = o[t] * np.tanh(c[t])
    yhat[t] = Wy @ h[t] + by
    loss += 0.5 * np.sum((yhat[t] - y[t]) ** 2)
