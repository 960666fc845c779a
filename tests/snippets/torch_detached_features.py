import torch
from torch import nn

class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(2, 3)
    @torch.no_grad()
    def features(self, x):
        return torch.tanh(self.f(x))
    @property
    def out_dim(self):
        return self.f.out_features
    @classmethod
    def build(cls, seed=0):
        net = cls()
        for p in net.parameters():
            p.data = torch.full_like(p, 0.3) + seed * 0.01
        return net
    def forward(self, x):
        return torch.tanh(self.f(x))

class Head(nn.Module):
    def __init__(self, backbone, n):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(backbone.out_dim, n)
        nn.init.constant_(self.head.weight, 0.2)
        nn.init.zeros_(self.head.bias)
    def forward(self, x, frozen=False):
        h = self.backbone.features(x) if frozen else self.backbone(x)
        return self.head(h)

net = Head(Backbone.build(seed=3), 2)
x = torch.tensor([[1.0, -0.5], [0.2, 0.7], [0.0, 1.1]])
y = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
mask = torch.tensor([1.0, 0.0, 1.0])
try:
    per = nn.functional.mse_loss(net(x), y, reduction='none').mean(-1)
except RuntimeError as e:
    print(e)
loss_a = (per * mask).sum() / mask.sum().clamp_min(1e-8)
loss_b = net(x, frozen=True).logsumexp(dim=-1).mean()
losses = {'a': loss_a, 'b': 0.5 * loss_b}
total = sum(losses.values())
if not torch.isfinite(total):
    raise ValueError('loss is not finite')
total.backward()
del losses
print({k: float(v.grad.norm()) for k, v in net.named_parameters()})
