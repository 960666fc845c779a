import numpy as np
# batchnorm/conv naive loops CS231n
def conv_forward_naive(x, w, b, conv_param):
    stride, pad = conv_param['stride'], conv_param['pad']
    N, C, H, W = x.shape
    F, _, HH, WW = w.shape
    H_out = 1 + (H + 2 * pad - HH) // stride
    W_out = 1 + (W + 2 * pad - WW) // stride
    out = np.zeros((N, F, H_out, W_out))
    x_pad = np.pad(x, ((0,), (0,), (pad,), (pad,)), mode='constant', constant_values=0)
    for i in range(H_out):
        for j in range(W_out):
            x_masked = x_pad[:, :, i*stride:i*stride+HH, j*stride:j*stride+WW]
            for k in range(F):
                out[:, k, i, j] = np.sum(x_masked * w[k, :, :, :], axis=(1, 2, 3))
    out = out + b[None, :, None, None]
    cache = (x, w, b, conv_param)
    return out, cache

def conv_backward_naive(dout, cache):
    x, w, b, conv_param = cache
    N, C, H, W = x.shape
    F, _, HH, WW = w.shape
    stride, pad = conv_param['stride'], conv_param['pad']
    H_out = 1 + (H + 2 * pad - HH) // stride
    W_out = 1 + (W + 2 * pad - WW) // stride
    x_pad = np.pad(x, ((0,), (0,), (pad,), (pad,)), mode='constant', constant_values=0)
    dx = np.zeros_like(x)
    dx_pad = np.zeros_like(x_pad)
    dw = np.zeros_like(w)
    db = np.zeros_like(b)
    db = np.sum(dout, axis=(0, 2, 3))
    for i in range(H_out):
        for j in range(W_out):
            x_pad_masked = x_pad[:, :, i*stride:i*stride+HH, j*stride:j*stride+WW]
            for k in range(F):
                dw[k, :, :, :] += np.sum(x_pad_masked * (dout[:, k, i, j])[:, None, None, None], axis=0)
            for n in range(N):
                dx_pad[n, :, i*stride:i*stride+HH, j*stride:j*stride+WW] += np.sum((w[:, :, :, :] * (dout[n, :, i, j])[:, None, None, None]), axis=0)
    dx = dx_pad[:, :, pad:-pad, pad:-pad]
    return dx, dw, db

def max_pool_forward_naive(x, pool_param):
    HH, WW, s = pool_param['pool_height'], pool_param['pool_width'], pool_param['stride']
    N, C, H, W = x.shape
    H_new, W_new = 1 + (H - HH) // s, 1 + (W - WW) // s
    out = np.zeros((N, C, H_new, W_new))
    for i in range(N):
        for j in range(C):
            for k in range(H_new):
                for l in range(W_new):
                    window = x[i, j, k*s:HH+k*s, l*s:WW+l*s]
                    out[i, j, k, l] = np.max(window)
    cache = (x, pool_param)
    return out, cache

def max_pool_backward_naive(dout, cache):
    x, pool_param = cache
    HH, WW, s = pool_param['pool_height'], pool_param['pool_width'], pool_param['stride']
    N, C, H, W = x.shape
    H_new, W_new = 1 + (H - HH) // s, 1 + (W - WW) // s
    dx = np.zeros_like(x)
    for i in range(N):
        for j in range(C):
            for k in range(H_new):
                for l in range(W_new):
                    window = x[i, j, k*s:HH+k*s, l*s:WW+l*s]
                    m = np.max(window)
                    dx[i, j, k*s:HH+k*s, l*s:WW+l*s] += (window == m) * dout[i, j, k, l]
    return dx

x = np.linspace(-0.1, 0.5, num=32).reshape(2, 1, 4, 4) ** 2
w = np.linspace(-0.2, 0.3, num=18).reshape(2, 1, 3, 3)
b = np.linspace(-0.1, 0.2, num=2)
a, conv_cache = conv_forward_naive(x, w, b, {'stride': 1, 'pad': 1})
p, pool_cache = max_pool_forward_naive(a, {'pool_height': 2, 'pool_width': 2, 'stride': 2})
loss = np.sum(p ** 2)
dp = 2 * p
da = max_pool_backward_naive(dp, pool_cache)
dx, dw, db = conv_backward_naive(da, conv_cache)
