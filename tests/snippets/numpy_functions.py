import numpy as np

def softmax(z):
    z = z - z.max(axis=1, keepdims=True)
    e = np.exp(z)
    return e / e.sum(axis=1, keepdims=True)

def forward(X, params):
    W1, b1, W2, b2 = params['W1'], params['b1'], params['W2'], params['b2']
    z1 = X @ W1 + b1
    a1 = np.tanh(z1)
    z2 = a1 @ W2 + b2
    probs = softmax(z2)
    return probs, {'z1': z1, 'a1': a1, 'probs': probs}

def backward(X, y, params, cache):
    m = X.shape[0]
    dz2 = cache['probs'].copy()
    dz2[np.arange(m), y] -= 1
    dz2 /= m
    dW2 = cache['a1'].T @ dz2
    db2 = dz2.sum(axis=0)
    da1 = dz2 @ params['W2'].T
    dz1 = da1 * (1 - cache['a1'] ** 2)
    return {'W1': X.T @ dz1, 'b1': dz1.sum(axis=0), 'W2': dW2, 'b2': db2}

rng = np.random.default_rng(1)
params = {'W1': rng.normal(size=(2, 3)), 'b1': np.zeros(3), 'W2': rng.normal(size=(3, 2)), 'b2': np.zeros(2)}
X = rng.normal(size=(4, 2)); y = np.array([0, 1, 1, 0])
for epoch in range(100):
    probs, cache = forward(X, params)
    loss = -np.log(probs[np.arange(len(y)), y]).mean()
    grads = backward(X, y, params, cache)
    for k in params:
        params[k] -= 0.1 * grads[k]
    if epoch % 10 == 0: print(f"{epoch:3d} {loss:.4f}")
