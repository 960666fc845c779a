"""Conv autoencoder + frozen teacher + EMA copy (BYOL-like)."""
import copy
import torch
from torch import nn, optim


class AE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 2, 3, stride=2, padding=1), nn.ELU())
        self.dec = nn.ConvTranspose2d(2, 1, kernel_size=2, stride=2)
        self.scales = nn.ParameterList([nn.Parameter(torch.tensor(1.0 + 0.1 * i)) for i in range(2)])
        self.gates = nn.ParameterDict({'a': nn.Parameter(torch.tensor([0.5])), 'b': nn.Parameter(torch.tensor([-0.25]))})

    def forward(self, x):
        z = self.enc(x) * self.scales[0]
        y = self.dec(z) * self.scales[1]
        return y * torch.sigmoid(self.gates['a']) + self.gates['b'], z


def set_params(m, seed=0.0):
    with torch.no_grad():
        for i, p in enumerate(m.parameters()):
            if p.ndim > 1:
                p.copy_((torch.arange(p.numel()).to(p.dtype) * 0.61 + i + seed).cos().reshape(p.shape))
            elif p.ndim == 1:
                p.fill_(0.1)


model = AE()
set_params(model)
teacher = copy.deepcopy(model)
for p in teacher.parameters():
    p.requires_grad_(False)

opt = optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.01)
x = (torch.arange(32.) * 0.3).sin().reshape(2, 1, 4, 4)

for step in range(2):
    y, z = model(x)
    with torch.no_grad():
        _, zt = teacher(x)
    loss = nn.functional.mse_loss(y, x) + nn.SmoothL1Loss()(z, zt) + 1e-3 * z.abs().sum()
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    # EMA
    with torch.no_grad():
        for pt, ps in zip(teacher.parameters(), model.parameters()):
            pt.mul_(0.9).add_(ps, alpha=0.1)
    print(f"step {step}: {loss.item():.6f}")
