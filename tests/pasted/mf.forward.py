import numpy as np

R = np.array([[5, 3, 0, 1], [4, 0, 0, 1], [1, 1, 0, 5]])
P = np.array([[0.9, 0.2], [0.4, 0.7], [0.3, 1.1]])
Q = np.array([[1.2, 0.5], [0.3, 0.8], [0.6, 0.1], [0.2, 1.4]])
bu = np.array([0.1, -0.2, 0.3])
bi = np.array([0.2, 0.0, -0.1, 0.4])
mu = 2.6
lam = 0.02

loss = 0
for i in range(len(R)):
    for j in range(len(R[i])):
        if R[i][j] > 0:
            eij = R[i][j] - (mu + bu[i] + bi[j] + np.dot(P[i, :], Q[j, :]))
            loss = loss + eij ** 2
            for k in range(2):
                loss = loss + (lam / 2) * (P[i][k] ** 2 + Q[j][k] ** 2)
