import torch
from torch import nn, autograd

class Critic(nn.Module):
    def __init__(self, in_dim=2, hidden=3):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(in_dim, hidden),
            nn.Tanh(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.main(x).view(-1)

netD = Critic()
netD.load_state_dict({
    'main.0.weight': torch.tensor([[0.3, -0.4], [0.8, 0.1], [-0.5, 0.9]]),
    'main.0.bias': torch.tensor([0.05, -0.1, 0.2]),
    'main.2.weight': torch.tensor([[1.0, -0.6, 0.7]]),
    'main.2.bias': torch.tensor([0.0]),
})

LAMBDA = 10

def calc_gradient_penalty(netD, real_data, fake_data):
    alpha = torch.tensor([[0.3], [0.8], [0.5]])
    alpha = alpha.expand(real_data.size())
    interpolates = alpha * real_data + ((1 - alpha) * fake_data)
    interpolates = autograd.Variable(interpolates, requires_grad=True)
    disc_interpolates = netD(interpolates)
    gradients = autograd.grad(outputs=disc_interpolates, inputs=interpolates,
                              grad_outputs=torch.ones(disc_interpolates.size()),
                              create_graph=True, retain_graph=True, only_inputs=True)[0]
    gradient_penalty = ((gradients.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA
    return gradient_penalty

real = torch.tensor([[1.0, 0.2], [0.4, -0.3], [0.9, 0.7]])
fake = torch.tensor([[-0.5, 0.1], [0.2, 0.6], [-0.8, -0.4]])

netD.zero_grad()
D_real = netD(real).mean()
D_fake = netD(fake.detach()).mean()
gradient_penalty = calc_gradient_penalty(netD, real.data, fake.data)
D_cost = D_fake - D_real + gradient_penalty
D_cost.backward()
Wasserstein_D = D_real - D_fake
print("D cost %.4f, W %.4f, gp %.4f" % (D_cost.item(), Wasserstein_D.item(), gradient_penalty.item()))
for name, p in netD.named_parameters():
    print(name, p.grad)
