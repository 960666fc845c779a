dw1 = 0
dw2 = 0
db = 0
for i in range(m):
    dz = y[i] - a[i]
    dw1 += X[i, 0] * dz
    dw2 += X[i, 1] * dz
    db += dz
dw1 /= m
dw2 /= m
db /= m
