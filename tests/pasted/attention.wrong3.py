dO = (O - Y) / T
dA = dO @ V.T
dV = A.T @ dO

# softmax, one row at a time
dS = np.zeros_like(A)
for i in range(T):
    a = A[i].reshape(-1, 1)
    J = np.diagflat(a) - a.T @ a
    dS[i] = J @ dA[i]
dS = dS / np.sqrt(d)

dQ = dS @ K
dK = dS.T @ Q

dWq = X.T @ dQ
dWk = X.T @ dK
dWv = X.T @ dV
dX = dQ @ Wq.T
dX += dK @ Wk.T
dX += dV @ Wv.T
