"""Derivations by hand, right in every line, and the slips that can be planted in them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

TWO_LAYERS = """
dz2 = p - y
dW2 = outer(dz2, h1)
db2 = dz2
dh1 = W2.T @ dz2
dz1 = dh1 * (z1 > 0)
dW1 = outer(dz1, x)
db1 = dz1
dx = W1.T @ dz1
"""
"""The derivation of a net of two layers, whichever way its loss is written."""

DERIVATIONS: dict[str, tuple[str, str]] = {
    "two layers, cross-entropy": (
        """
x = [1.0, 0.5]
y = const([1, 0])
W1 = [[0.2, -0.1], [0.3, -0.4]]
b1 = [0.1, -0.2]
W2 = [[0.5, -0.2], [0.1, 0.6]]
b2 = [0.0, 0.1]
z1 = W1 @ x + b1
h1 = relu(z1)
z2 = W2 @ h1 + b2
p = softmax(z2)
L = cross_entropy(z2, y)
""",
        TWO_LAYERS,
    ),
    "tanh net on a batch, binary cross-entropy": (
        """
X = [[1.0, -0.5, 2.0], [0.3, 1.2, -0.7]]
Y = [[1.0, 0.0, 1.0]]
W1 = [[0.1, -0.2], [0.4, 0.3], [-0.5, 0.6], [0.2, 0.1]]
b1 = [[0.0], [0.1], [-0.1], [0.05]]
W2 = [[0.3, -0.4, 0.5, 0.2]]
b2 = [[0.1]]
Z1 = W1 @ X + b1
A1 = tanh(Z1)
Z2 = W2 @ A1 + b2
A2 = sigmoid(Z2)
L = -sum(Y * log(A2) + (1 - Y) * log(1 - A2)) / 3
""",
        """
dZ2 = (A2 - Y) / 3
dW2 = dZ2 @ A1.T
db2 = sum(dZ2, axis=1, keepdims=True)
dA1 = W2.T @ dZ2
dZ1 = dA1 * (1 - A1 ** 2)
dW1 = dZ1 @ X.T
db1 = sum(dZ1, axis=1, keepdims=True)
dX = W1.T @ dZ1
""",
    ),
    "batch norm": (
        """
x = [[1.0, 2.0], [3.0, -1.0], [0.5, 0.3], [-2.0, 4.0]]
gamma = [1.5, -0.5]
beta = [0.1, 0.2]
dout = const([[0.1, -0.2], [0.3, 0.4], [-0.5, 0.6], [0.7, -0.8]])
mu = mean(x, axis=0)
xm = x - mu
v = mean(xm ** 2, axis=0)
ivar = 1 / sqrt(v + 1e-5)
xh = xm * ivar
out = gamma * xh + beta
L = sum(out * dout)
""",
        """
dbeta = sum(dout, axis=0)
dgamma = sum(dout * xh, axis=0)
dxh = dout * gamma
divar = sum(dxh * xm, axis=0)
dv = divar * (-0.5) * ivar ** 3
dxm = dxh * ivar
dxm += dv * 2 * xm / 4
dmu = -sum(dxm, axis=0)
dx = dxm + dmu / 4
""",
    ),
    "layer norm": (
        """
x = [[1.0, 2.0, -0.5], [3.0, -1.0, 0.7]]
g = [1.5, -0.5, 0.8]
b = [0.1, 0.2, 0.3]
w = const([[0.1, -0.2, 0.5], [0.3, 0.4, -0.6]])
mu = mean(x, axis=1, keepdims=True)
xc = x - mu
s = sqrt(mean(xc ** 2, axis=1, keepdims=True) + 1e-5)
xh = xc / s
y = g * xh + b
L = sum(y * w)
""",
        """
db = sum(w, axis=0)
dg = sum(w * xh, axis=0)
dxh = w * g
dx = (dxh - mean(dxh, axis=1, keepdims=True) - xh * mean(dxh * xh, axis=1, keepdims=True)) / s
""",
    ),
    "recurrent net of three steps": (
        """
Wh = [[0.3, 0.6], [-0.5, 0.2]]
Wx = [[0.4, -0.2], [0.1, 0.5]]
b = [0.1, -0.1]
x1 = const([1.0, 0.5])
x2 = const([-0.3, 0.8])
x3 = const([0.2, -1.0])
h0 = const([0.3, -0.2])
a1 = Wh @ h0 + Wx @ x1 + b
h1 = tanh(a1)
a2 = Wh @ h1 + Wx @ x2 + b
h2 = tanh(a2)
a3 = Wh @ h2 + Wx @ x3 + b
h3 = tanh(a3)
t = const([0.5, -0.4])
L = 0.5 * sum((h3 - t) ** 2) + sum(h1)
""",
        """
dh3 = h3 - t
da3 = dh3 * (1 - h3 ** 2)
dh2 = Wh.T @ da3
da2 = dh2 * (1 - h2 ** 2)
dh1 = Wh.T @ da2 + ones(2)
da1 = dh1 * (1 - h1 ** 2)
dWh = outer(da3, h2) + outer(da2, h1) + outer(da1, h0)
dWx = outer(da3, x3) + outer(da2, x2) + outer(da1, x1)
db = da1 + da2 + da3
""",
    ),
    "attention": (
        """
X = [[1.0, 0.2, -0.4], [0.5, -1.0, 0.3]]
Wq = [[0.3, 0.1], [-0.2, 0.4], [0.5, 0.2]]
Wk = [[0.5, -0.3], [0.2, 0.1], [-0.1, 0.6]]
Wv = [[1.0, 0.2], [0.1, -0.5], [0.3, 0.7]]
Q = X @ Wq
K = X @ Wk
V = X @ Wv
S = Q @ K.T / sqrt(2)
A = softmax(S, axis=1)
O = A @ V
L = sum(O ** 2)
""",
        """
dO = 2 * O
dA = dO @ V.T
dV = A.T @ dO
dS = A * (dA - sum(dA * A, axis=1, keepdims=True))
dQ = dS @ K / sqrt(2)
dK = dS.T @ Q / sqrt(2)
dWq = X.T @ dQ
dWk = X.T @ dK
dWv = X.T @ dV
dX = dQ @ Wq.T + dK @ Wk.T + dV @ Wv.T
""",
    ),
    "logistic regression with a penalty": (
        """
X = const([[1.0, 2.0], [-1.0, 0.5], [0.3, -2.0]])
y = const([1.0, 0.0, 1.0])
w = [0.4, -0.3]
b = 0.1
z = X @ w + b
s = sigmoid(z)
L = -mean(y * log(s) + (1 - y) * log(1 - s)) + 0.05 * sum(w ** 2)
""",
        """
dz = (s - y) / 3
dw = X.T @ dz + 2 * 0.05 * w
db = sum(dz)
""",
    ),
    "quadratic form": (
        """
x = [1.0, 2.0, -0.5]
A = [[2.0, 1.0, 0.3], [4.0, 3.0, -0.2], [0.1, 0.7, 1.5]]
b = [0.3, -0.4, 0.9]
u = A @ x
q = dot(x, u)
f = q - dot(b, x)
""",
        """
du = x
dA = outer(du, x)
dx = u + A.T @ du - b
db = -x
""",
    ),
    "LSTM cell": (
        """
x = [0.5, -0.3]
h0 = [0.2, 0.4]
c0 = [0.25, -0.6]
Wf = [[0.4, 0.1], [-0.2, 0.3]]
Uf = [[0.2, -0.3], [0.5, 0.1]]
Wi = [[0.7, -0.1], [0.3, 0.2]]
Wg = [[-0.5, 0.6], [0.2, -0.4]]
Wo = [[0.9, 0.3], [-0.1, 0.5]]
zf = Wf @ x + Uf @ h0
f = sigmoid(zf)
zi = Wi @ x
i = sigmoid(zi)
zg = Wg @ x
g = tanh(zg)
zo = Wo @ x
o = sigmoid(zo)
c = f * c0 + i * g
k = tanh(c)
h = o * k
t = [0.3, -0.6]
L = 0.5 * sum((h - t) ** 2)
""",
        """
dh = h - t
do = dh * k
dk = dh * o
dc = dk * (1 - k ** 2)
df = dc * c0
di = dc * g
dg = dc * i
dc0 = dc * f
dzf = df * f * (1 - f)
dzi = di * i * (1 - i)
dzg = dg * (1 - g ** 2)
dzo = do * o * (1 - o)
dWf = outer(dzf, x)
dUf = outer(dzf, h0)
dWi = outer(dzi, x)
dWg = outer(dzg, x)
dWo = outer(dzo, x)
dh0 = Uf.T @ dzf
dx = Wf.T @ dzf + Wi.T @ dzi + Wg.T @ dzg + Wo.T @ dzo
""",
    ),
    "convolution": (
        """
x = [1.0, 2.0, -1.0, 0.5, 3.0]
k = [0.2, -0.4, 0.6]
b = 0.1
w = const([1.0, -0.7, 2.0])
y = conv1d(x, k) + b
r = relu(y)
L = sum(r * w)
""",
        """
dr = w
dy = dr * (y > 0)
dk = conv1d(x, dy)
dx = conv1d(dy, flip(k, 0), pad=2)
db = sum(dy)
""",
    ),
    "a helper for the error": (
        """
X = const([[1.0, 0.5, -0.2], [-0.3, 0.8, 0.4]])
t = const([[0.3, -0.1], [0.7, 0.2]])
W = [[0.6, -0.2], [0.4, 0.1], [-0.5, 0.3]]
b = [0.05, -0.1]
z = X @ W + b
h = sigmoid(z)
L = 0.5 * sum((h - t) ** 2) / 2
""",
        """
e = (h - t) / 2
delta = e * h * (1 - h)
dW = X.T @ delta
db = sum(delta, axis=0)
""",
    ),
    "a factor put back later": (
        """
X = const([[1.0, 0.5], [-0.3, 0.8], [0.2, -1.1], [0.9, 0.4]])
y = const([[1.0], [0.5], [-1.0], [0.3]])
W1 = [[0.6, 0.2, -0.3], [-0.2, 0.5, 0.1]]
b1 = [0.05, 0.1, -0.2]
W2 = [[0.4], [-0.6], [0.3]]
z1 = X @ W1 + b1
h1 = tanh(z1)
z2 = h1 @ W2
L = mean((z2 - y) ** 2)
""",
        """
dz2 = z2 - y
dW2 = h1.T @ dz2 / 2
dh1 = dz2 @ W2.T
dz1 = dh1 * (1 - h1 ** 2)
dW1 = X.T @ dz1 / 2
db1 = sum(dz1, axis=0) / 2
""",
    ),
    "two layers with batch norm between, step by step": (
        """
Xb = const([[0.5, -1.2, 0.3], [1.1, 0.4, -0.6], [-0.7, 0.9, 0.2], [0.1, -0.3, 1.4]])
Yb = const([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
W1 = [[0.4, -0.2, 0.1, 0.5], [0.3, 0.6, -0.5, 0.2], [-0.1, 0.2, 0.7, -0.4]]
b1 = [0.1, -0.1, 0.05, 0.2]
bngain = [1.1, 0.9, 1.3, 0.7]
bnbias = [0.05, -0.1, 0.15, 0.2]
W2 = [[0.2, -0.3, 0.4], [0.5, 0.1, -0.2], [-0.6, 0.3, 0.2], [0.1, 0.4, -0.5]]
b2 = [0.0, 0.1, -0.1]
hprebn = Xb @ W1 + b1
bnmeani = sum(hprebn, axis=0, keepdims=True) / 4
bndiff = hprebn - bnmeani
bndiff2 = bndiff ** 2
bnvar = sum(bndiff2, axis=0, keepdims=True) / 3
bnvar_inv = (bnvar + 1e-5) ** -0.5
bnraw = bndiff * bnvar_inv
hpreact = bngain * bnraw + bnbias
h = tanh(hpreact)
logits = h @ W2 + b2
logit_maxes = max(logits, axis=1, keepdims=True)
norm_logits = logits - logit_maxes
counts = exp(norm_logits)
counts_sum = sum(counts, axis=1, keepdims=True)
counts_sum_inv = counts_sum ** -1
probs = counts * counts_sum_inv
logprobs = log(probs)
loss = -sum(logprobs * Yb) / 4
""",
        """
dlogprobs = -Yb / 4
dprobs = (1 / probs) * dlogprobs
dcounts_sum_inv = sum(counts * dprobs, axis=1, keepdims=True)
dcounts = counts_sum_inv * dprobs
dcounts_sum = (-counts_sum ** -2) * dcounts_sum_inv
dcounts += ones_like(counts) * dcounts_sum
dnorm_logits = counts * dcounts
dlogits = dnorm_logits
dlogit_maxes = sum(-dnorm_logits, axis=1, keepdims=True)
dlogits += one_hot(argmax(logits, axis=1), 3) * dlogit_maxes
dh = dlogits @ W2.T
dW2 = h.T @ dlogits
db2 = sum(dlogits, axis=0)
dhpreact = (1.0 - h ** 2) * dh
dbngain = sum(bnraw * dhpreact, axis=0)
dbnraw = bngain * dhpreact
dbnbias = sum(dhpreact, axis=0)
dbndiff = bnvar_inv * dbnraw
dbnvar_inv = sum(bndiff * dbnraw, axis=0, keepdims=True)
dbnvar = (-0.5 * (bnvar + 1e-5) ** -1.5) * dbnvar_inv
dbndiff2 = (1.0 / 3) * ones_like(bndiff2) * dbnvar
dbndiff += (2 * bndiff) * dbndiff2
dhprebn = dbndiff
dbnmeani = sum(-dbndiff, axis=0, keepdims=True)
dhprebn += 1.0 / 4 * (ones_like(hprebn) * dbnmeani)
dW1 = Xb.T @ dhprebn
db1 = sum(dhprebn, axis=0)
""",
    ),
    "two layers, softmax and logarithm": (
        """
x = [0.5, 1.2]
y = [0, 1]
W1 = [[0.4, -0.2], [0.3, 0.6]]
b1 = [0.1, -0.1]
W2 = [[0.7, -0.5], [-0.3, 0.2]]
b2 = [0.05, 0.1]
z1 = W1 @ x + b1
h1 = relu(z1)
z2 = W2 @ h1 + b2
p = softmax(z2)
L = -sum(y * log(p))
""",
        TWO_LAYERS,
    ),
    "batch norm, squared": (
        """
x = [[1.0, 2.0, 0.3], [3.0, -1.0, 0.7], [0.5, 0.2, -1.1], [-2.0, 4.0, 0.4]]
gamma = [1.5, -0.5, 0.8]
beta = [0.1, 0.2, -0.3]
u = [[0.1, -0.2, 0.6], [0.3, 0.4, -0.8], [-0.5, 0.6, 0.2], [0.7, -0.8, 0.5]]
mu = mean(x, axis=0)
xc = x - mu
v = mean(xc ** 2, axis=0)
s = 1 / sqrt(v + 0.01)
xn = xc * s
out = gamma * xn + beta
L = sum(out ** 2 * u)
""",
        """
dout = 2 * out * u
dbeta = sum(dout, axis=0)
dgamma = sum(dout * xn, axis=0)
dxn = dout * gamma
ds = sum(dxn * xc, axis=0)
dv = -0.5 * ds * s ** 3
dxc = dxn * s + 2 * xc * dv / 4
dmu = -sum(dxc, axis=0)
dx = dxc + dmu / 4
""",
    ),
    "layer norm, step by step": (
        """
x = [[1.0, 2.0, 0.3, -0.4], [3.0, -1.0, 0.7, 0.2], [0.5, 0.2, -1.1, 1.3]]
g = [1.5, -0.5, 0.8, 1.1]
b = [0.1, 0.2, -0.3, 0.4]
t = [[0.1, -0.2, 0.6, 0.5], [0.3, 0.4, -0.8, 0.2], [-0.5, 0.6, 0.2, -0.7]]
mu = mean(x, axis=1, keepdims=True)
xc = x - mu
v = mean(xc ** 2, axis=1, keepdims=True)
r = (v + 0.01) ** -0.5
n = xc * r
y = n * g + b
L = mean((y - t) ** 2)
""",
        """
dy = 2 * (y - t) / 12
db = sum(dy, axis=0)
dg = sum(dy * n, axis=0)
dn = dy * g
dr = sum(dn * xc, axis=1, keepdims=True)
dv = dr * (-0.5) * r ** 3
dxc = dn * r + 2 * xc * dv / 4
dmu = -sum(dxc, axis=1, keepdims=True)
dx = dxc - mean(dxc, axis=1, keepdims=True)
""",
    ),
    "recurrent net with a helper": (
        """
Wx = [[0.4, -0.2], [0.1, 0.5]]
Wh = [[0.3, 0.6], [-0.5, 0.2]]
V = [[0.7, -0.4], [0.2, 0.9]]
b = [0.1, -0.2]
x1 = [1.0, 0.5]
x2 = [-0.3, 0.8]
x3 = [0.2, -1.0]
t = [0.3, -0.6]
h1 = tanh(Wx @ x1 + b)
a2 = Wx @ x2 + Wh @ h1 + b
h2 = tanh(a2)
a3 = Wx @ x3 + Wh @ h2 + b
h3 = tanh(a3)
o = V @ h3
L = 0.5 * sum((o - t) ** 2)
""",
        """
do = o - t
dV = outer(do, h3)
dh3 = V.T @ do
da3 = dh3 * (1 - h3 ** 2)
dh2 = Wh.T @ da3
da2 = dh2 * (1 - h2 ** 2)
dh1 = Wh.T @ da2
a1 = dh1 * (1 - h1 ** 2)
dWh = outer(da3, h2) + outer(da2, h1)
dWx = outer(da3, x3) + outer(da2, x2) + outer(a1, x1)
db = da3 + da2 + a1
""",
    ),
    "attention, other sizes": (
        """
Q = [[0.3, -0.2, 0.5], [0.1, 0.8, -0.4]]
K = [[0.6, 0.2, -0.1], [-0.3, 0.5, 0.9], [0.2, -0.7, 0.4]]
V = [[1.0, 0.5], [-0.4, 0.3], [0.7, -0.9]]
G = [[0.2, -0.6], [0.9, 0.4]]
S = Q @ K.T / 2
P = softmax(S, axis=1)
O = P @ V
L = sum(O * G)
""",
        """
dO = G
dV = P.T @ dO
dP = dO @ V.T
dS = P * (dP - sum(dP * P, axis=1, keepdims=True))
dQ = dS @ K / 2
dK = dS.T @ Q / 2
""",
    ),
    "logistic regression, penalty halved": (
        """
X = [[1.0, 2.0], [-1.0, 0.5], [0.3, -2.0], [0.8, 0.1]]
y = [1.0, 0.0, 1.0, 0.0]
w = [0.4, -0.3]
c = 0.2
z = X @ w + c
s = sigmoid(z)
L = -mean(y * log(s) + (1 - y) * log(1 - s)) + 0.5 * 0.1 * sum(w ** 2)
""",
        """
dz = (s - y) / 4
dw = X.T @ dz + 0.1 * w
dc = sum(dz)
""",
    ),
    "quadratic form in one line": (
        """
x = [1.0, 2.0, -0.5]
A = [[2.0, 1.0, 0.3], [4.0, 3.0, -0.6], [0.7, -1.2, 1.5]]
b = [0.5, -1.0, 2.0]
q = x @ A @ x
L = q - dot(b, x)
""",
        """
dx = A @ x + A.T @ x - b
dA = outer(x, x)
db = -x
""",
    ),
    "convolution of an image": (
        """
X = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]
W = [[1.0, 0.5], [-1.0, 2.0]]
b = 0.1
T = [[0.1, 0.2], [0.3, 0.4]]
Z = conv2d(X, W) + b
H = relu(Z)
L = sum(H * T)
""",
        """
dH = T
dT = H
dZ = dH * (Z > 0)
dW = conv2d(X, dZ)
dX = conv2d(dZ, flip(W, (0, 1)), pad=1)
db = sum(dZ)
""",
    ),
    "residual gate": (
        """
x = [0.6, -0.8, 0.3]
W = [[0.4, -0.2, 0.1], [0.3, 0.6, -0.5], [0.2, -0.7, 0.9]]
a = [0.7, -0.3, 0.5]
u = [0.2, 0.9, -0.4]
z = W @ x
h = sin(z)
y = x + a * h
e = exp(0.5 * y)
L = sum(e * u)
""",
        """
de = u
dy = de * 0.5 * e
da = dy * h
dh = dy * a
dz = dh * cos(z)
dW = outer(dz, x)
dx = dy + W.T @ dz
""",
    ),
    "ratio": (
        """
x = [1.5, 2.0, 0.7]
w = [0.4, 1.3, 0.9]
b = 0.8
n = sum(x * w)
d = sum(w ** 2) + b
r = n / d
q = log(d)
L = r ** 3 + 2 * q
""",
        """
dr = 3 * r ** 2
dn = dr / d
dq = 2
dd = 2 / d - dr * n / d ** 2
db = dd
dx = dn * w
dw = dn * x + dd * 2 * w
""",
    ),
    "joined": (
        """
h = [0.2, -0.4]
x = [1.0, 0.5, -1.0]
W = [[0.1, 0.2, 0.3, -0.4, 0.5], [0.6, -0.7, 0.8, 0.9, -1.0]]
b = [0.1, 0.05]
u = [1.0, -1.3]
j = concat([h, x], axis=0)
z = W @ j + b
f = sigmoid(z)
L = sum(f * u)
""",
        """
df = u
dz = df * f * (1 - f)
dW = outer(dz, j)
db = dz
dh = W[:, 0:2].T @ dz
dx = W[:, 2:5].T @ dz
""",
    ),
}
"""By name, a formula file and its derivation."""


@dataclass(frozen=True)
class Planted:
    """A derivation with a slip: what was done, on which line (from 1), and the sheet with the slip in it."""

    what: str
    line: int
    answers: str


def planted(answers: str) -> Iterator[Planted]:
    """The derivation with one slip at a time, in every line to which it applies."""
    lines = answers.strip().split("\n")
    for number, text in enumerate(lines, start=1):
        left, sign, right = _sides(text)
        plain = ast.unparse(ast.parse(right, mode="eval"))
        for what, slipped in _slips(ast.parse(plain, mode="eval").body):
            if slipped != plain:
                new = f"{left} {sign} {slipped}"
                yield Planted(what, number, "\n".join([*lines[: number - 1], new, *lines[number:]]) + "\n")


def _sides(text: str) -> tuple[str, str, str]:
    sign = "+=" if "+=" in text else "="
    left, right = text.split(sign, 1)
    return left.strip(), sign, right.strip()


def _slips(right: ast.expr) -> Iterator[tuple[str, str]]:
    whole = ast.unparse(right)
    yield "sign", f"-({whole})"
    yield "factor", f"2 * ({whole})"
    for place in ast.walk(right):
        for what, new in _replacements(place):
            yield what, ast.unparse(_Replace(place, new).visit(ast.parse(whole, mode="eval").body))


class _Replace(ast.NodeTransformer):
    """Puts a piece in the place of another, found by where it stands in the text."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.place = _key(old)
        self.new = new

    def visit(self, node: ast.AST) -> ast.AST:
        if _key(node) == self.place:
            return self.new
        return self.generic_visit(node)


def _key(node: ast.AST) -> tuple[object, ...]:
    return (type(node), getattr(node, "col_offset", None), getattr(node, "end_col_offset", None))


def _replacements(place: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match place:
        case ast.Attribute(value, "T"):
            yield "missing transpose", value
        case ast.BinOp(left, ast.MatMult(), right):
            yield "swapped operands", ast.BinOp(right, ast.MatMult(), left)
            yield "elementwise for matrix product", ast.BinOp(left, ast.Mult(), right)
        case ast.BinOp(left, ast.Mult(), right):
            yield "missing factor", left
            yield "missing factor", right
            yield "division for multiplication", ast.BinOp(left, ast.Div(), right)
        case ast.BinOp(left, ast.Div(), right):
            yield "missing division", left
            yield "multiplication for division", ast.BinOp(left, ast.Mult(), right)
        case ast.BinOp(left, ast.Add(), right):
            yield "missing term", left
            yield "missing term", right
            yield "wrong sign of a term", ast.BinOp(left, ast.Sub(), right)
        case ast.BinOp(left, ast.Sub(), right):
            yield "missing term", left
            yield "wrong sign of a term", ast.BinOp(left, ast.Add(), right)
        case ast.BinOp(left, ast.Pow(), ast.Constant(2)):
            yield "wrong exponent", ast.BinOp(left, ast.Pow(), ast.Constant(3))
            yield "missing exponent", left
        case ast.Compare(left, [ast.Gt()], right):
            yield "inverted mask", ast.Compare(left, [ast.Lt()], right)
        case ast.Call(ast.Name("outer"), [a, b], []):
            yield "swapped operands", ast.Call(ast.Name("outer"), [b, a], [])
        case ast.Call(ast.Name("sum" | "mean") as name, [inner], keywords):
            yield "missing sum", inner
            other = ast.Name("mean" if name.id == "sum" else "sum")
            yield "mean for sum", ast.Call(other, [inner], keywords)
            for keyword in keywords:
                if keyword.arg == "axis":
                    axis = ast.keyword("axis", ast.Constant(1 - int(ast.unparse(keyword.value))))
                    yield "wrong axis", ast.Call(name, [inner], [axis, *[k for k in keywords if k.arg != "axis"]])
        case ast.UnaryOp(ast.USub(), inner):
            yield "missing sign", inner
