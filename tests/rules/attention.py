import numpy as np

def softmax(z):
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)

def attention_forward(Q, K, V):
    d = Q.shape[-1]
    S = Q @ K.T / np.sqrt(d)
    P = softmax(S)
    O = P @ V
    return O, (Q, K, V, P)

def attention_backward(dO, cache):
    Q, K, V, P = cache
    d = Q.shape[-1]
    dV = P.T @ dO
    dP = dO @ V.T
    dS = P * (dP - (dP * P).sum(axis=-1, keepdims=True))
    dS = dS / np.sqrt(d)
    dQ = dS @ K
    dK = dS.T @ Q
    return dQ, dK, dV

rng = np.random.default_rng(1)
T, d = 4, 4
Q = rng.normal(size=(T, d)); K = rng.normal(size=(T, d)); V = rng.normal(size=(T, d))
O, cache = attention_forward(Q, K, V)
loss = (O ** 2).sum()
dQ, dK, dV = attention_backward(2 * O, cache)
