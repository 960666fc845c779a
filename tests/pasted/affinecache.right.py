def backward(cache, dout):
    """
    Inputs:
    - cache: Tuple of x, w, out from the forward pass
    - dout: Upstream derivative, of shape (N, M)
    """
    x, w, out = cache
    dz = dout * (1 - out ** 2)
    dx = dz.dot(w.T)
    dw = x.T.dot(dz)
    db = np.sum(dz, axis=0)
    return dx, dw, db

dout = 2 * (out - target) / N
dx, dw, db = backward(cache, dout)
