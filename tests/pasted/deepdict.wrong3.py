delta = {}
dW = {}
db = {}
l = n_layers
while l > 0:
    if l == n_layers:
        delta[l] = (a[l] - Y) / N
    else:
        delta[l] = delta[l+1] @ W[l+1].T * (1 - a[l+1] ** 2)
    dW[l] = a[l-1].T @ delta[l]
    db[l] = delta[l].sum(axis=0)
    l -= 1
dX = delta[1] @ W[1].T
