lr, momentum = 0.1, 0.9
vw, vb = np.zeros_like(w), 0.0
sig = 1.0 / (1.0 + np.exp(-z))
diff = y - sig
w_grad = (X * diff[:, None]).sum(axis=0) / m + C / m * w
b_grad = sum([d for d in diff]) / m
vw = momentum * vw - lr * w_grad
vb = momentum * vb - lr * b_grad
w += vw
b += vb
