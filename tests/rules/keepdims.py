import numpy as np

def l2norm_forward(x, scale):
    n = np.sqrt((x ** 2).sum(axis=1, keepdims=True))
    y = scale * x / n
    return y, (x, scale, n)

def l2norm_backward(dy, cache):
    x, scale, n = cache
    xh = x / n
    dscale = (dy * xh).sum()
    g = dy * scale
    dx = (g - xh * (g * xh).sum(axis=1, keepdims=True)) / n
    return dx, dscale

x = np.array([[1.0, 2.0, -1.0], [0.5, -0.3, 2.0], [1.0, 1.5, 0.7]])
scale = 1.7
y, cache = l2norm_forward(x, scale)
loss = np.sum(np.cos(y))
dx, dscale = l2norm_backward(-np.sin(y), cache)
