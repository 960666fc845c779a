import torch
from torch import nn
from dataclasses import dataclass, field
from typing import Tuple

@dataclass
class Config:
    lr: float = 1e-2
    accum: int = 2
    hidden: Tuple[int, ...] = (4, 3)
    betas: Tuple[float, float] = (0.9, 0.99)
    seed: int = 0

cfg = Config(lr=5e-3)
torch.manual_seed(cfg.seed)

def make_mlp(sizes, act=nn.ReLU, out_act=nn.Identity):
    layers = []
    for j in range(len(sizes) - 1):
        a = act if j < len(sizes) - 2 else out_act
        layers += [nn.Linear(sizes[j], sizes[j + 1]), a()]
    return nn.Sequential(*layers)

net = make_mlp([2, *cfg.hidden, 1], act=nn.SiLU)
state = {k: torch.cos(torch.arange(v.numel()).float()).reshape(v.shape) for k, v in net.state_dict().items()}
net.load_state_dict(state)
opt = torch.optim.Adam(net.parameters(), lr=cfg.lr, betas=cfg.betas)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=10)
X = torch.tensor([[0.5, 1.0], [-1.0, 0.3], [0.2, -0.7], [1.5, 0.1]])
y = torch.tensor([1.0, 0.0, 1.0, 0.0]).unsqueeze(1)
loss_fn = nn.HuberLoss(delta=0.7)
opt.zero_grad()
for step, (xb, yb) in enumerate(zip(X.split(1), y.split(1))):
    out = net(xb)
    loss = loss_fn(out, yb) / cfg.accum
    loss.backward()
    if (step + 1) % cfg.accum == 0:
        total_norm = torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
        opt.step()
        opt.zero_grad()
        sched.step()
        print(f"{step=} {loss.item():.3f} {total_norm:.3f} lr={sched.get_last_lr()[0]:.5f}")
