import numpy as np

X = np.array([[0.5, -1.2], [1.1, 0.4], [-0.3, 0.8], [0.9, -0.6]])
y = np.array([1, 0, 1, 1])
w1 = 0.4
w2 = -0.7
b = 0.2
m = 4

J = 0
z = np.zeros(m)
a = np.zeros(m)
for i in range(m):
    z[i] = w1 * X[i, 0] + w2 * X[i, 1] + b
    a[i] = 1 / (1 + np.exp(-z[i]))
    J += -(y[i] * np.log(a[i]) + (1 - y[i]) * np.log(1 - a[i]))
J /= m
