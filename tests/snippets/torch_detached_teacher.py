import torch
from torch import nn
import torch.nn.functional as F
from copy import deepcopy

student = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2))
for i, p in enumerate(student.parameters()):
    nn.init.constant_(p, 0.1 * (i + 1))
    if p.dim() == 2:
        p.data[0, 1] = -0.7
        p.data[1] += 0.3
teacher = deepcopy(student).eval()
teacher[0].weight.data.mul_(2)
for p in teacher.parameters():
    p.requires_grad = False

x = torch.tensor([[1.0, 0.5], [-0.3, 2.0]])
T = 2.0
with torch.no_grad():
    t_logits = teacher(x)
s_logits = student(x)
kd = F.kl_div(F.log_softmax(s_logits / T, dim=1), F.softmax(t_logits / T, dim=1), reduction='batchmean') * T * T
ce = F.cross_entropy(s_logits, torch.tensor([0, 1]))
loss = 0.5 * kd + 0.5 * ce

optimizer = torch.optim.SGD([
    {'params': student[0].parameters(), 'lr': 1e-3},
    {'params': student[2].parameters()},
], lr=1e-2)
optimizer.zero_grad()
loss.backward()
optimizer.step()
with torch.no_grad():
    for tp, sp in zip(teacher.parameters(), student.parameters()):
        tp.data.lerp_(sp.data, 0.01)
print(f'{loss=:.4f}')
