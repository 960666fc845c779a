N = len(y)
dout = criterion.p.copy()
dout[np.arange(N), y] -= 1
dout /= N

fc2.dW = h.T @ dout
fc2.db = dout.sum(axis=0)
dout = dout @ fc2.W.T

dout = dout * act.mask

fc1.dW = fc1.x.T @ dout
fc1.db = dout.sum(axis=0)
dX = dout @ fc1.W.T
