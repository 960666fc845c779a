grad_O = 2 * (O - T) / O.size
grad_Wo = C.T @ grad_O
grad_C = grad_O @ Wo.T

grad_Q = np.zeros_like(Q)
grad_K = np.zeros_like(K)
grad_V = np.zeros_like(V)
scale = 1 / np.sqrt(d_head)
for h in range(num_heads):
    lo, hi = h * d_head, (h + 1) * d_head
    q, k, v = Q[:, lo:hi], K[:, lo:hi], V[:, lo:hi]
    A = softmax(q @ k.T * scale)      # recompute
    g = grad_C[:, lo:hi]
    grad_A = g @ v.T
    grad_V[:, lo:hi] = A.T @ g
    # softmax jacobian, row by row
    grad_S = A * (grad_A - np.sum(grad_A * A, axis=-1, keepdims=True))
    grad_S *= scale
    grad_Q[:, lo:hi] = grad_S @ k
    grad_K[:, lo:hi] = grad_S @ q

grad_Wq = X.T @ grad_Q
grad_Wk = X.T @ grad_K
grad_Wv = X.T @ grad_V
grad_X = grad_Q @ Wq.T + grad_K @ Wk.T + grad_V @ Wv.T
assert grad_X.shape == X.shape
