import numpy as np
def conv_forward_naive(x, w, b, conv_param):
    N, C, H, W = x.shape
    F, _, HH, WW = w.shape
    stride, pad = conv_param['stride'], conv_param['pad']
    Ho = 1 + (H + 2 * pad - HH) // stride
    Wo = 1 + (W + 2 * pad - WW) // stride
    x_pad = np.pad(x, ((0,), (0,), (pad,), (pad,)), 'constant')
    out = np.zeros((N, F, Ho, Wo))
    for n in range(N):
        for f in range(F):
            for i in range(Ho):
                for j in range(Wo):
                    out[n, f, i, j] = np.sum(x_pad[n, :, i*stride:i*stride+HH, j*stride:j*stride+WW] * w[f]) + b[f]
    cache = (x, w, b, conv_param)
    return out, cache
x = np.linspace(-0.1, 0.5, num=2*1*4*4).reshape(2, 1, 4, 4)
w = np.linspace(-0.2, 0.3, num=2*1*3*3).reshape(2, 1, 3, 3)
b = np.linspace(-0.1, 0.2, num=2)
out, _ = conv_forward_naive(x, w, b, {'stride': 1, 'pad': 1})
loss = (out ** 2).sum()
