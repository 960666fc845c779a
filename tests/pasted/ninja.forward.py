import torch
import torch.nn.functional as F

n_embd = 2
block_size = 3
n_hidden = 4
vocab_size = 5
n = 4  # batch size

Xb = torch.tensor([[0, 0, 1], [0, 1, 3], [1, 3, 4], [2, 0, 2]])
Yb = torch.tensor([3, 4, 0, 1])

C = torch.tensor([[0.5, -1.2], [0.3, 0.8], [-0.7, 0.4], [1.1, -0.2], [-0.4, 0.9]])
# Layer 1
W1 = torch.tensor([[0.4, -0.3, 0.7, 0.2], [-0.6, 0.5, 0.1, -0.8], [0.3, 0.9, -0.2, 0.5],
                   [-0.1, 0.6, 0.35, -0.45], [0.8, -0.25, 0.15, 0.55], [0.05, 0.75, -0.65, 0.1]])
b1 = torch.tensor([0.1, -0.1, 0.05, 0.2])
# Layer 2
W2 = torch.tensor([[0.2, -0.7, 0.4, 0.1, 0.6], [0.6, 0.3, -0.5, -0.2, 0.8],
                   [-0.9, 0.8, 0.1, 0.5, -0.3], [0.35, -0.15, 0.75, -0.6, 0.25]])
b2 = torch.tensor([0.05, -0.1, 0.15, 0.0, 0.2])
# BatchNorm parameters
bngain = torch.tensor([[1.1, 0.9, 1.2, 0.8]])
bnbias = torch.tensor([[0.1, -0.05, 0.0, 0.2]])

parameters = [C, W1, b1, W2, b2, bngain, bnbias]
for p in parameters:
    p.requires_grad = True

# forward pass, "chunkated" into smaller steps that are possible to backward one at a time
emb = C[Xb]  # embed the characters into vectors
embcat = emb.view(emb.shape[0], -1)  # concatenate the vectors
# Linear layer 1
hprebn = embcat @ W1 + b1  # hidden layer pre-activation
# BatchNorm layer
bnmeani = 1/n*hprebn.sum(0, keepdim=True)
bndiff = hprebn - bnmeani
bndiff2 = bndiff**2
bnvar = 1/(n-1)*(bndiff2).sum(0, keepdim=True)  # note: Bessel's correction (dividing by n-1, not n)
bnvar_inv = (bnvar + 1e-5)**-0.5
bnraw = bndiff * bnvar_inv
hpreact = bngain * bnraw + bnbias
# Non-linearity
h = torch.tanh(hpreact)  # hidden layer
# Linear layer 2
logits = h @ W2 + b2  # output layer
# cross entropy loss (same as F.cross_entropy(logits, Yb))
logit_maxes = logits.max(1, keepdim=True).values
norm_logits = logits - logit_maxes  # subtract max for numerical stability
counts = norm_logits.exp()
counts_sum = counts.sum(1, keepdims=True)
counts_sum_inv = counts_sum**-1
probs = counts * counts_sum_inv
logprobs = probs.log()
loss = -logprobs[range(n), Yb].mean()

# PyTorch backward pass
for p in parameters:
    p.grad = None
for t in [logprobs, probs, counts, counts_sum, counts_sum_inv,
          norm_logits, logit_maxes, logits, h, hpreact, bnraw,
          bnvar_inv, bnvar, bndiff2, bndiff, hprebn, bnmeani,
          embcat, emb]:
    t.retain_grad()
loss.backward()
