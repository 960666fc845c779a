import numpy as np

x = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
W_mu = np.array([[0.2, -0.3], [0.5, 0.4], [-0.1, 0.7]])
b_mu = np.zeros(2)
W_logvar = np.array([[-0.2, 0.1], [0.3, -0.4], [0.25, 0.15]])
b_logvar = np.array([-0.5, 0.1])
W_dec = np.array([[0.6, -0.2, 0.3], [-0.7, 0.5, 0.9]])
b_dec = np.array([0.1, 0.0, -0.3])
eps = np.array([[0.31, -1.2], [0.85, 0.44]])
beta = 0.5

mu = x @ W_mu + b_mu
logvar = x @ W_logvar + b_logvar
std = np.exp(0.5 * logvar)
z = mu + std * eps
logits = z @ W_dec + b_dec
x_recon = 1 / (1 + np.exp(-logits))
recon = -np.sum(x * np.log(x_recon) + (1 - x) * np.log(1 - x_recon))
kl = -0.5 * np.sum(1 + logvar - mu ** 2 - np.exp(logvar))
elbo_loss = (recon + beta * kl) / x.shape[0]
