dscore = prob - y
dLdfc = dscore * pool.flatten()
dpool = (dscore * fc).reshape(pool.shape)

dact = np.zeros_like(act)
for f in range(n_filters):
    for j in range(3):
        window = act[f, 2 * j:2 * j + 2]
        idx = np.argmin(window)
        dact[f, 2 * j + idx] += dpool[f, j]

dconv = dact * np.where(conv > 0, 1.0, 0.01)

dLdkernels = np.zeros_like(kernels)
dLdbias = np.zeros_like(bias)
dLdsignal = np.zeros_like(signal)
for f in range(n_filters):
    for i in range(n_out):
        dLdkernels[f] += dconv[f, i] * signal[i:i + k]
        dLdbias[f] += dconv[f, i]
        dLdsignal[i:i + k] += dconv[f, i] * kernels[f]
