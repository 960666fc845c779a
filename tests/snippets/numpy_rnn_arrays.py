import numpy as np

np.random.seed(42)
T, H, D = 4, 3, 2
Wx = np.random.uniform(-0.5, 0.5, (H, D))
Wh = np.random.uniform(-0.5, 0.5, (H, H))
b = np.zeros(H)
x = np.random.normal(size=(T, D))
h = np.zeros((T + 1, H))
for t in range(T):
    h[t + 1] = np.tanh(Wx @ x[t] + Wh @ h[t] + b)
loss = 0.5 * np.sum((h[T] - 1.0) ** 2)

dh = h[T] - 1.0
dWx, dWh, db = np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)
for t in reversed(range(T)):
    dz = dh * (1 - h[t + 1] ** 2)
    dWx += np.outer(dz, x[t])
    dWh += np.outer(dz, h[t])
    db += dz
    dh = Wh.T @ dz
