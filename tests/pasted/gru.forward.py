import numpy as np

def sigmoid(v):
    return 1.0 / (1.0 + np.exp(-v))

T = 3
x = np.array([[0.5, -1.0], [1.2, 0.3], [-0.4, 0.8]])
target = np.array([[0.2, -0.1, 0.4], [0.5, 0.4, -0.6], [-0.3, 0.6, 0.1]])
params = {
    'Wz': np.array([[0.3, -0.2], [0.5, 0.1], [-0.4, 0.6]]),
    'Uz': np.array([[0.2, 0.5, -0.3], [-0.6, 0.1, 0.4], [0.7, -0.2, 0.3]]),
    'bz': np.array([0.1, -0.2, 0.05]),
    'Wr': np.array([[-0.5, 0.3], [0.2, 0.8], [0.1, -0.4]]),
    'Ur': np.array([[0.4, -0.1, 0.6], [0.3, 0.2, -0.5], [-0.2, 0.9, 0.1]]),
    'br': np.array([-0.1, 0.3, 0.2]),
    'Wh': np.array([[0.7, 0.2], [-0.6, 0.4], [0.3, 0.5]]),
    'Uh': np.array([[-0.3, 0.6, 0.2], [0.5, -0.4, 0.1], [0.8, 0.3, -0.7]]),
    'bh': np.array([0.0, 0.15, -0.1]),
}
h = np.zeros((T + 1, 3))
h[0] = np.array([0.3, -0.4, 0.2])
z = np.zeros((T + 1, 3))
r = np.zeros((T + 1, 3))
hh = np.zeros((T + 1, 3))
loss = 0
for t in range(1, T + 1):
    z[t] = sigmoid(params['Wz'] @ x[t-1] + params['Uz'] @ h[t-1] + params['bz'])
    r[t] = sigmoid(params['Wr'] @ x[t-1] + params['Ur'] @ h[t-1] + params['br'])
    hh[t] = np.tanh(params['Wh'] @ x[t-1] + params['Uh'] @ (r[t] * h[t-1]) + params['bh'])
    h[t] = (1 - z[t]) * h[t-1] + z[t] * hh[t]
    loss += np.sum((h[t] - target[t-1]) ** 2)
