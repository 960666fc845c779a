def conv_backward(dout, x_pad, w, stride, pad):
    dx_pad = np.zeros(x_pad.shape)
    dw = np.zeros(w.shape)
    db = dout.sum(axis=(0, 2, 3))
    for i in range(dout.shape[2]):
        for j in range(dout.shape[3]):
            rows = slice(i * stride, i * stride + w.shape[2])
            cols = slice(j * stride, j * stride + w.shape[3])
            for f in range(w.shape[0]):
                dw[f] += np.sum(x_pad[:, :, rows, cols] * dout[:, f, i, j][:, None, None, None], axis=0)
            for n in range(x_pad.shape[0]):
                dx_pad[n, :, rows, cols] += np.sum(w * dout[n, :, i, j][:, None, None, None], axis=0)
    return dx_pad[:, :, pad:-pad, pad:-pad], dw, db


dx, dw, db = conv_backward(out - target, x_pad, w, stride, pad)
