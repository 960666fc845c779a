import numpy as np

x = np.linspace(-0.5, 0.9, num=32).reshape(2, 1, 4, 4)
w = np.array([[[[0.2, -0.4, 0.1], [0.5, 0.3, -0.6], [-0.1, 0.7, 0.4]]],
              [[[-0.3, 0.6, 0.2], [0.1, -0.5, 0.8], [0.9, -0.2, -0.7]]]])
b = np.array([0.1, -0.2])
target = np.linspace(0.4, -0.3, num=16).reshape(2, 2, 2, 2)
stride = 2
pad = 1

N, C, H, W = x.shape
F, _, HH, WW = w.shape
H_out = 1 + (H + 2 * pad - HH) // stride
W_out = 1 + (W + 2 * pad - WW) // stride
x_pad = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), mode='constant')
out = np.zeros((N, F, H_out, W_out))
for n in range(N):
    for f in range(F):
        for i in range(H_out):
            for j in range(W_out):
                window = x_pad[n, :, i * stride:i * stride + HH, j * stride:j * stride + WW]
                out[n, f, i, j] = np.sum(window * w[f]) + b[f]

loss = 0.5 * np.sum((out - target) ** 2)
