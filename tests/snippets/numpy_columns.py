import numpy as np

# polynomial regression, ridge, with the gradient worked by hand
xs = np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 1.5])
ys = np.array([1.2, 0.4, 0.1, 0.3, 1.1, 2.4])
A = np.vander(xs, 4, increasing=True)
w = np.array([0.1, -0.2, 0.3, 0.05])
lam = 0.1
resid = A @ w - ys
loss_ridge = (resid ** 2).mean() + lam * np.linalg.norm(w) ** 2
grad_w = 2 * A.T @ resid / len(ys) + 2 * lam * w

# logistic regression with an intercept column
X = np.c_[np.ones(4), np.array([[0.5, 1.5], [2.3, 0.7], [-1.2, 0.4], [0.9, -0.8]])]
t = np.array([1, 0, 1, 0])
theta = np.array([0.2, -0.4, 0.6])


def h(theta, X):
    return 1.0 / (1 + np.exp(-X.dot(theta)))


def cost(theta, X, y):
    m = y.size
    p = h(theta, X)
    return -(1.0 / m) * (np.log(p).T.dot(y) + np.log(1 - p).T.dot(1 - y))


def gradient(theta, X, y):
    m = y.size
    return (1 / m) * X.T.dot(h(theta.reshape(-1, 1), X).flatten() - y)


J = cost(theta, X, t)
g_theta = gradient(theta, X, t)

# Gaussian negative log likelihood
mu = np.array([0.5, -1.0])
log_sigma = np.array([0.1, -0.3])
obs = np.array([[0.2, -0.7], [1.1, -1.9], [0.4, -0.2]])
nll = np.sum(0.5 * np.log(2 * np.pi) + log_sigma + 0.5 * ((obs - mu) / np.exp(log_sigma)) ** 2)
d_mu = -np.sum((obs - mu) / np.exp(2 * log_sigma), axis=0)
d_log_sigma = np.sum(1 - ((obs - mu) / np.exp(log_sigma)) ** 2, axis=0)

# embedding bag gradient
emb = np.arange(10.0).reshape(5, 2) / 10
idx = np.array([1, 3, 1, 4])
coef = np.array([[1.0, 2.0], [0.5, -1.0], [-2.0, 0.3], [1.5, 1.5]])
picked = emb[idx]
emb_loss = (picked ** 2 * coef).sum()
demb = np.zeros_like(emb)
np.add.at(demb, idx, 2 * picked * coef)
print(loss_ridge, J, nll, emb_loss)
