import torch
from torch import nn, Tensor
import torch.nn.functional as F
from typing import Optional


class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 6):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-torch.log(torch.tensor(10000.0)) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer('pe', pe)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.pe[:x.size(0)]
        return self.dropout(x)


class EncoderLayer(nn.Module):
    def __init__(self, d_model: int, nhead: int, d_ff: int, dropout: float = 0.1):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, nhead, dropout=dropout)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.act = nn.PReLU()

    def forward(self, src: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        a, _ = self.self_attn(src, src, src, attn_mask=mask, need_weights=False)
        src = self.norm1(src + a)
        return self.norm2(src + self.linear2(self.act(self.linear1(src))))


def subsequent_mask(sz: int) -> Tensor:
    return torch.triu(torch.ones(sz, sz) * float('-inf'), diagonal=1)


pos = PositionalEncoding(4)
layers = nn.ModuleList([EncoderLayer(4, 2, 6) for _ in range(2)])
head = nn.Linear(4, 1)
pos.eval(); layers.eval(); head.eval()

for mod in (layers, head):
    for j, p in enumerate(mod.parameters()):
        with torch.no_grad():
            p.copy_(torch.sin(torch.arange(p.numel()) * 0.9 + j).view_as(p))

src = torch.linspace(-1, 1, 24).view(3, 2, 4)
x = pos(src)
for layer in layers:
    x = layer(x, subsequent_mask(x.size(0)))
pred = torch.sigmoid(head(x)).squeeze(-1)
target = torch.tensor([[0., 1.], [1., 1.], [0., 0.]])
loss = F.binary_cross_entropy(pred, target, reduction='mean')
loss.backward()
for n, p in layers.named_parameters():
    print(n, p.grad.norm())
