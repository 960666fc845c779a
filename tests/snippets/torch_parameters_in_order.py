import torch
import torch.nn as nn

class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)
        self.w = nn.Parameter(torch.zeros(2))
        self.extra = [nn.Linear(2, 1)]
        self.register_buffer('buf', torch.ones(2) * 3)
        self.tail = nn.Sequential(nn.Linear(2, 1, bias=False))

    def forward(self, x):
        return self.tail(self.lin(x) * self.w + self.buf)

m = Scale()
for i, p in enumerate(m.parameters()):
    nn.init.constant_(p, 0.1 * (i + 1))
for i, (n, p) in enumerate(m.named_parameters()):
    if n.endswith('weight'):
        p.data[0, 0] = -0.5 * i
out = m(torch.tensor([[1.0, 2.0], [-1.0, 0.5]]))
l2 = sum(p.pow(2).sum() for p in m.parameters())
loss = out.sum() ** 2 + 0.1 * l2
loss.backward()
dev = next(m.parameters()).device
print(dev, len(list(m.parameters())))
