# backward pass for the tied autoencoder
def dsigmoid(a):
    # a is already sigmoid(z)
    return a * (1 + a)

err = X_hat - X
delta_out = err * dsigmoid(X_hat)
delta_hid = (delta_out @ W) * dsigmoid(H)

# W is used twice: encoder part + decoder part
gW_enc = X.T @ delta_hid
gW_dec = delta_out.T @ H
gW = gW_enc + gW_dec
gb_enc = delta_hid.sum(axis=0)
gb_dec = delta_out.sum(axis=0)

gW /= n
gW += weight_decay * W
gb_enc /= n
gb_dec /= n

lr = 0.1
W -= lr * gW
b_enc -= lr * gb_enc
b_dec -= lr * gb_dec
print("loss", loss)
