import torch
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self, **kwargs):
        super().__init__()
        self.emb = nn.Linear(3, kwargs.get('dim', 2))
        self.scale = nn.Parameter(torch.tensor(1.5))
        self.register_parameter('shift', nn.Parameter(torch.tensor([0.1, -0.2])))

    def forward_once(self, x):
        return F.normalize(self.emb(x) * self.scale + self.shift, p=2, dim=1)

    def forward(self, a, p, n):
        return map(self.forward_once, (a, p, n))

torch.manual_seed(7)
net = Net(dim=2)
net.emb.weight.data = torch.tensor([[0.2, -0.5, 0.8], [0.9, 0.4, -0.3]])
net.emb.bias.data.zero_()

a = torch.tensor([[1., 0., 2.], [0.5, 1., -1.]])
p = a + 0.1
n = -a.flip(0)
ea, ep, en = net(a, p, n)
triplet = nn.TripletMarginLoss(margin=1.0, p=2)(ea, ep, en)
cos = F.cosine_similarity(ea, en, dim=1)
dist = F.pairwise_distance(ea, ep)
contrastive = torch.mean((1 - torch.tensor([1., 0.])) * dist.pow(2) + torch.tensor([1., 0.]) * torch.clamp(1.0 - dist, min=0.0).pow(2))
loss = triplet + cos.clamp(min=0).sum() + contrastive + F.margin_ranking_loss(cos, dist, torch.tensor([1., -1.]), margin=0.2)
loss.backward()
for name, param in net.named_parameters():
    if param.grad is not None:
        print(f"{name:<12} {tuple(param.shape)} grad-norm {param.grad.norm():.4f}")
