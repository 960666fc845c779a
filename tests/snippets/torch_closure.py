import torch
from torch import optim
x = torch.tensor([1.0, -2.0, 3.0])
y = torch.tensor([2.0, 0.0, 5.0])
w = torch.tensor(0.5, requires_grad=True)
b = torch.tensor(0.0, requires_grad=True)
opt = optim.LBFGS([w, b], lr=0.1, max_iter=1)
history = []
def closure():
    opt.zero_grad()
    loss = ((w * x + b - y) ** 2).mean()
    loss.backward()
    history.append(loss.item())
    return loss
for epoch in range(3):
    opt.step(closure)
print(history)
