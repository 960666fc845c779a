dout = out - target
m = x.shape[0]
dbeta = dout.sum(axis=0)
dgamma = (dout * xhat).sum(axis=0)
dx = np.zeros_like(x)
for j in range(x.shape[1]):
    dxhat = dout[:, j] * gamma[j]
    dx[:, j] = ivar[j] / m * (m * dxhat - dxhat.sum() - xhat[:, j] * (dxhat * xhat[:, j]).sum())
