import torch, torch.nn as nn
torch.manual_seed(0)
class Tied(nn.Module):
    def __init__(self, v, d):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.out = nn.Linear(d, v, bias=False)
        self.out.weight = self.emb.weight
        self.hidden = torch.zeros(d)
    def forward(self, ids):
        outs = []
        h = self.hidden
        for t in range(ids.shape[1]):
            h = torch.tanh(h + self.emb(ids[:, t]))
            outs.append(self.out(h))
        self.hidden = h.detach()
        return torch.stack(outs, 1)
m = Tied(4, 2)
m.emb.weight.data.copy_(torch.tensor([[0.1, 0.2], [-0.3, 0.4], [0.5, -0.6], [0.7, 0.8]]))
ids = torch.tensor([[0, 1, 2], [3, 2, 1]])
tgt = ids.roll(-1, dims=1)
loss = 0
for k in range(2):
    logits = m(ids)
    loss = loss + nn.functional.cross_entropy(logits.permute(0, 2, 1), tgt)
scores = logits.detach().max(-1)[0]
topv, topi = logits.topk(2, dim=-1)
loss = loss + topv.sum() * 0.01 + logits.gather(2, topi).mean()
a, b = logits.chunk(2, dim=0)
loss += (a.squeeze(0) - b.squeeze(0)).abs().max()
loss.backward()
print(m.out.weight.grad is m.emb.weight.grad, scores)
