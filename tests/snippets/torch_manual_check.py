import torch

torch.set_default_dtype(torch.float64)
dtype = torch.float64
device = torch.device("cpu")

# manual backprop through a tiny softmax classifier, compared with autograd
N, D, H, K = 4, 3, 5, 3
X = torch.tensor([[0.2, -0.5, 1.0], [1.5, 0.3, -0.8], [-0.6, 0.9, 0.1], [0.7, 0.7, -0.2]], dtype=dtype)
Y = torch.tensor([0, 2, 1, 2])
W1 = (torch.arange(D * H, dtype=dtype).view(D, H) * 0.37).sin().requires_grad_()
b1 = torch.full((H,), 0.1, dtype=dtype, requires_grad=True)
W2 = (torch.arange(H * K, dtype=dtype).view(H, K) * 0.53).cos().requires_grad_(True)
b2 = torch.zeros(K, dtype=dtype, requires_grad=True)

def cmp(s, dt, t):
  ex = torch.all(dt == t.grad).item()
  app = torch.allclose(dt, t.grad)
  maxdiff = (dt - t.grad).abs().max().item()
  print(f'{s:15s} | exact: {str(ex):5s} | approximate: {str(app):5s} | maxdiff: {maxdiff}')

hpre = X @ W1 + b1
h = hpre.clamp(min=0)
logits = h @ W2 + b2
logit_maxes = logits.max(1, keepdim=True).values
norm_logits = logits - logit_maxes # subtract max for numerical stability
counts = norm_logits.exp()
counts_sum = counts.sum(1, keepdims=True)
counts_sum_inv = counts_sum**-1
probs = counts * counts_sum_inv
logprobs = probs.log()
loss = -logprobs[range(N), Y].mean()

for t in [logprobs, probs, counts, counts_sum, counts_sum_inv, norm_logits, logit_maxes, logits, h, hpre]:
  t.retain_grad()
loss.backward()

with torch.no_grad():
    dlogits = probs.clone()
    dlogits[range(N), Y] -= 1
    dlogits /= N
    dh = dlogits @ W2.T
    dW2 = h.T @ dlogits
    db2 = dlogits.sum(0)
    dhpre = dh * (hpre > 0)
    dW1 = X.t() @ dhpre
    db1 = dhpre.sum(dim=0)

cmp('logits', dlogits, logits)
cmp('h', dh, h)
cmp('W1', dW1, W1)
cmp('b1', db1, b1)
cmp('W2', dW2, W2)
cmp('b2', db2, b2)
assert torch.allclose(dW1, W1.grad), "W1"
assert torch.allclose(dW2, W2.grad, atol=1e-6), "W2"
