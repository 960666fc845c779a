import torch, torch.nn as nn, torch.optim as optim

class RunningNorm(nn.Module):
    def __init__(self, n, momentum=0.1):
        super().__init__()
        self.register_buffer('running_mean', torch.zeros(n))
        self.register_buffer("steps", torch.tensor(0), persistent=False)
        self.gamma = nn.Parameter(torch.ones(n))
        self.momentum = momentum

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.running_mean.mul_(1 - self.momentum).add_(self.momentum * x.mean(0))
                self.steps += 1
        return (x - self.running_mean) * self.gamma

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList()
        for i, (a, b) in enumerate([(3, 4), (4, 2)]):
            self.layers.append(nn.Linear(a, b))
            self.add_module(f'norm{i}', RunningNorm(b))
        self.bilinear = nn.Bilinear(2, 2, 1)
        self.temp = 0.5

    def forward(self, x):
        for i, l in enumerate(self.layers):
            x = getattr(self, f'norm{i}')(l(x))
            x = torch.where(x > 0, x, 0.01 * x)
        return self.bilinear(x, x.flip(-1)) / self.temp

m = Model()
with torch.no_grad():
    m.layers[0].weight.copy_(torch.eye(4, 3))
    m.layers[0].bias.fill_(0.1)
    m.layers[1].weight[:] = torch.tensor([[0.5, -0.5, 0.25, 1.0], [1.0, 0.0, -1.0, 0.5]])
    m.layers[1].bias.uniform_(-0.0, 0.0)
    m.bilinear.weight.zero_()
    m.bilinear.weight[0, 0, 1] = 2.0
    m.bilinear.weight[0, 1, 1] += 1.5
    m.bilinear.bias.zero_()
x = torch.tensor([[1.0, -2.0, 0.5], [0.3, 0.8, -1.1]])
y = m(x)
y = m(x)
loss = torch.nn.functional.softplus(-y).mean() + sum(p.abs().sum() for n, p in m.named_parameters() if 'weight' in n) * 1e-2
loss.backward()
print(m.norm0.running_mean, m.norm1.steps.item())
