import numpy as np

def max_pool_forward_naive(x, pool_param):
    N, C, H, W = x.shape
    ph, pw = pool_param["pool_height"], pool_param["pool_width"]
    stride = pool_param["stride"]
    H_out = 1 + (H - ph) // stride
    W_out = 1 + (W - pw) // stride
    out = np.zeros((N, C, H_out, W_out))
    for n in range(N):
        for c in range(C):
            for i in range(H_out):
                for j in range(W_out):
                    out[n, c, i, j] = np.max(x[n, c, i*stride:i*stride+ph, j*stride:j*stride+pw])
    cache = (x, pool_param)
    return out, cache

def max_pool_backward_naive(dout, cache):
    x, pool_param = cache
    N, C, H, W = x.shape
    ph, pw = pool_param["pool_height"], pool_param["pool_width"]
    stride = pool_param["stride"]
    H_out = 1 + (H - ph) // stride
    W_out = 1 + (W - pw) // stride
    dx = np.zeros_like(x)
    for n in range(N):
        for c in range(C):
            for i in range(H_out):
                for j in range(W_out):
                    window = x[n, c, i*stride:i*stride+ph, j*stride:j*stride+pw]
                    mask = window == np.max(window)
                    dx[n, c, i*stride:i*stride+ph, j*stride:j*stride+pw] += mask * dout[n, c, i, j]
    return dx

np.random.seed(231)
x = np.random.randn(1, 2, 4, 4)
dout = np.random.randn(1, 2, 2, 2)
pool_param = {"pool_height": 2, "pool_width": 2, "stride": 2}
out, cache = max_pool_forward_naive(x, pool_param)
dx = max_pool_backward_naive(dout, cache)
loss = (out * dout).sum()
