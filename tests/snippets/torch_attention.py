import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class SelfAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int = 2):
        super().__init__()
        assert d_model % n_heads == 0
        self.h = n_heads
        self.d_k = d_model // n_heads
        self.q = nn.Linear(d_model, d_model, bias=False)
        self.k = nn.Linear(d_model, d_model, bias=False)
        self.v = nn.Linear(d_model, d_model, bias=False)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x: torch.Tensor, mask=None) -> torch.Tensor:
        B, T, D = x.shape
        q = self.q(x).view(B, T, self.h, self.d_k).transpose(1, 2)
        k = self.k(x).view(B, T, self.h, self.d_k).transpose(1, 2)
        v = self.v(x).view(B, T, self.h, self.d_k).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float('-inf'))
        attn = F.softmax(scores, dim=-1)
        y = (attn @ v).transpose(1, 2).contiguous().view(B, T, D)
        return self.out(y)

torch.manual_seed(0)
x = torch.randn(1, 3, 4, requires_grad=True)
mask = torch.tril(torch.ones(3, 3))
attn = SelfAttention(4)
y = attn(x, mask)
loss = y.pow(2).mean()
loss.backward()
