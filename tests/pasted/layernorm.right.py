dout = out - target
dx = np.zeros_like(x)
dweight = np.zeros_like(weight)
dbias = np.zeros_like(bias)
for n in range(N):
    # first: two reduce operations
    dnorm_mean = 0.0
    dnorm_norm_mean = 0.0
    for c in range(C):
        norm = (x[n, c] - mean[n]) * rstd[n]
        dnorm = weight[c] * dout[n, c]
        dnorm_mean += dnorm
        dnorm_norm_mean += dnorm * norm
    dnorm_mean = dnorm_mean / C
    dnorm_norm_mean = dnorm_norm_mean / C

    # now iterate again and accumulate all the gradients
    for c in range(C):
        norm = (x[n, c] - mean[n]) * rstd[n]
        dnorm = weight[c] * dout[n, c]
        dbias[c] += dout[n, c]
        dweight[c] += norm * dout[n, c]
        dval = 0.0
        dval += dnorm
        dval -= dnorm_mean
        dval -= norm * dnorm_norm_mean
        dval *= rstd[n]
        dx[n, c] += dval
