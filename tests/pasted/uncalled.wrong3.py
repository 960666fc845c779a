def backward(X, y, W2, a1, a2, m):
    # output layer
    dz2 = (a2 - y) / m
    dW2 = a1.T @ dz2
    db2 = dz2.sum(axis=0)
    # hidden layer
    da1 = dz2 @ W2.T
    dz1 = da1 * a1 * (1 - a1)
    dW1 = X.T @ dz1
    db1 = dz1.sum()
    return dW1, db1, dW2, db2
