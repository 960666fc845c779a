dO = (O - Y) / T
dV = np.zeros_like(V)
dQ = np.zeros_like(Q)
dK = np.zeros_like(K)
for i in range(T):
    da = np.zeros(T)
    for j in range(T):
        da[j] = dO[i] @ V[j]
        dV[j] += A[i, j] * dO[i]
    dot = np.sum(da * A[i])
    for j in range(T):
        ds = A[i, j] * (da[j] - dot) / np.sqrt(d)
        dQ[i] += ds * K[j]
        dK[j] += ds * Q[i]
dWq, dWk, dWv = [X.T @ g for g in (dQ, dK, dV)]
dX = sum(g @ W_.T for g, W_ in zip((dQ, dK, dV), (Wq, Wk, Wv)))
