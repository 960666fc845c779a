def vae_backward(x, x_recon, z, mu, logvar, std, eps):
    batch = x.shape[0]
    # decoder
    d_logits = (x_recon - x) / batch
    d_W_dec = z.T @ d_logits
    d_b_dec = np.sum(d_logits, axis=0)
    d_z = d_logits @ W_dec.T

    # reparameterisation: z = mu + exp(logvar/2) * eps
    d_mu = d_z.copy()
    d_std = d_z * eps
    d_logvar = d_std * 0.5 * std

    # KL term
    d_mu += beta * mu / batch
    d_logvar += beta * 0.5 * (np.exp(logvar) - 1) / batch

    d_W_mu = np.dot(x.T, d_mu)
    d_b_mu = d_mu.sum(0)
    d_W_logvar = np.dot(x.T, d_logvar)
    d_b_logvar = d_logvar.sum(0)
    return d_W_mu, d_b_mu, d_W_logvar, d_b_logvar, d_W_dec, d_b_dec

d_W_mu, d_b_mu, d_W_logvar, d_b_logvar, d_W_dec, d_b_dec = vae_backward(x, x_recon, z, mu, logvar, std, eps)
