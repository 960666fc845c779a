import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Dropout(0.0), nn.Linear(hidden, dim))
    def forward(self, x):
        return x + self.mlp(self.norm(x))
class Model(nn.Module):
    def __init__(self, depth=2):
        super().__init__()
        self.blocks = nn.ModuleList([Block(4, 8) for _ in range(depth)])
        self.head = nn.Linear(4, 3)
        self.apply(self._init)
    def _init(self, m):
        if isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
    def forward(self, x):
        for i, block in enumerate(self.blocks):
            x = block(x)
        return self.head(x.mean(dim=1))
model = Model()
print(sum(p.numel() for p in model.parameters()))
x = torch.randn(2, 5, 4)
target = torch.randint(0, 3, (2,))
logits = model(x)
loss = nn.functional.cross_entropy(logits, target, label_smoothing=0.1)
loss.backward()
