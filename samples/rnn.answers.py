# Backpropagation through time for rnn.txt, as it is written in code.  It has a slip: look for the line and the step.
dWx, dWh, dV = np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(V)
db = np.zeros(2)
dh_next = np.zeros(2)
for t in reversed(range(1, 4)):
    p = softmax(V @ h[t])
    p[y[t]] -= 1
    dV += np.outer(p, h[t])
    dh = V.T @ p + dh_next
    dz = (1 - h[t] ** 2) * dh
    db += dz
    dWx += np.outer(dz, x[t])
    dWh += np.outer(dz, h[t])
    dh_next = Wh.T @ dz
