"""PINN: u'' = -sin(x), boundary u(0)=u(pi)=0."""
import torch
import torch.nn as nn
import numpy as np

class PINN(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.net = nn.ModuleList([nn.Linear(i, o) for i, o in zip(layers[:-1], layers[1:])])
        for k, lin in enumerate(self.net):
            nn.init.constant_(lin.bias, 0.05 * k)
            lin.weight.data = torch.tensor(np.cos(np.arange(lin.weight.numel()) + k).reshape(lin.weight.shape)).to(lin.weight.dtype)

    def forward(self, x):
        for lin in self.net[:-1]:
            x = torch.tanh(lin(x))
        return self.net[-1](x)

model = PINN([1, 4, 4, 1])
x = torch.linspace(0, np.pi, 5).view(-1, 1).requires_grad_(True)

def residual(model, x):
    u = model(x)
    u_x = torch.autograd.grad(u, x, grad_outputs=torch.ones_like(u), create_graph=True)[0]
    u_xx = torch.autograd.grad(u_x, x, torch.ones_like(u_x), create_graph=True)[0]
    return u_xx + torch.sin(x)

opt = torch.optim.LBFGS(model.parameters(), max_iter=3)
bc = torch.tensor([[0.0], [np.pi]])
res = residual(model, x)
loss_pde = torch.mean(res ** 2)
loss_bc = torch.mean(model(bc) ** 2)
loss = loss_pde + 10.0 * loss_bc
loss.backward()
print("loss", float(loss), "grad", model.net[0].weight.grad.flatten())
