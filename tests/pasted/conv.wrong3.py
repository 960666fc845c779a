dout = out - target
dx_pad = np.zeros_like(x_pad)
dw = np.zeros_like(w)
db = np.zeros_like(b)
for n in range(N):
    for f in range(F):
        db[f] += np.sum(dout[n, f])
        for i in range(H_out):
            for j in range(W_out):
                hs = i * stride
                ws = j * stride
                dw[f] += x_pad[n, :, hs:hs + HH, ws:ws + WW] * dout[n, f, i, j]
                dx_pad[n, :, hs:hs + HH, ws:ws + WW] += w[f] * dout[n, f, i, j]
dx = dx_pad[:, :, :H, :W]
