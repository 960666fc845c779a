grad_w = np.zeros(2)
db = 0.0
for xi, yi, ai in zip(X, y, a):
    err = (ai - yi) / m
    for j, xij in enumerate(xi):
        grad_w[j] += err * xij
    db += err
dw1, dw2 = grad_w
