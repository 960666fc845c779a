dyhat = yhat - t
dw_out = dyhat * pooled
dpooled = dyhat * w_out

# max pool: the gradient goes to the biggest entry of each window
ddrop = np.zeros_like(drop)
for i in range(2):
    for j in range(2):
        window = drop[2*i:2*i+2, 2*j:2*j+2]
        a, b = np.unravel_index(np.argmax(window), window.shape)
        ddrop[i + a, 2*j + b] += dpooled[i, j]

dr = ddrop * mask / p
dconv = dr * (conv > 0)

dk = np.zeros_like(k)
dimg = np.zeros_like(img)
dbias = 0
for i in range(4):
    for j in range(4):
        dk += img[i:i+2, j:j+2] * dconv[i, j]
        dimg[i:i+2, j:j+2] += k * dconv[i, j]
        dbias += dconv[i, j]
