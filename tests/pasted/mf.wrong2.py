dP = np.zeros(P.shape)
dQ = np.zeros(Q.shape)
dbu = np.zeros(len(bu))
dbi = np.zeros(len(bi))
count = 0
for i in range(R.shape[0]):
    for j in range(R.shape[1]):
        if R[i, j] == 0:
            continue
        count += 1
        pred = mu + bu[i] + bi[j] + P[i, :].dot(Q[j, :])
        err = R[i, j] - pred
        dbu[i] += -2 * err
        dbi[j] += 2 * err
        for k in range(P.shape[1]):
            dP[i, k] += -2 * err * Q[j, k] + lam * P[i, k]
            dQ[j, k] += -2 * err * P[i, k] + lam * Q[j, k]
print("ratings used:", count)
alpha = 0.002
P = P - alpha * dP
Q = Q - alpha * dQ
bu = bu - alpha * dbu
bi = bi - alpha * dbi
