B = states.shape[0]
# derivative of Huber is the clipped TD error
d_td = np.clip(td_error, -1.0, 1.0) 
d_q = np.zeros_like(q)
d_q[np.arange(B), actions] = d_td

grad_W2 = np.einsum('bh,ba->ha', hidden, d_q)
grad_b2 = d_q.sum(axis=0)
d_hidden = np.einsum('ba,ha->bh', d_q, W2)
d_hidden[hidden <= 0] = 0
grad_W1 = np.einsum('bi,bh->ih', states, d_hidden)
grad_b1 = np.einsum('bh->h', d_hidden)

for param, g in [(W1, grad_W1), (b1, grad_b1), (W2, grad_W2), (b2, grad_b2)]:
    param -= 0.01 * g
