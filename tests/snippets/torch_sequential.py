import torch
from torch import nn, optim

net = nn.Sequential(
    nn.Linear(2, 3),
    nn.Tanh(),
    nn.Linear(3, 1),
    nn.Sigmoid(),
)
net[0].weight.data = torch.tensor([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
net[0].bias.data.fill_(0.1)
net[2].weight.data = torch.tensor([[0.7, 0.8, 0.9]])
net[2].bias.data.fill_(0.2)
loss_fn = nn.BCELoss()
opt = optim.Adam(net.parameters(), lr=1e-3)
X = torch.tensor([[0.0, 1.0], [1.0, 1.0]])
Y = torch.tensor([[1.0], [0.0]])

def train_step(model, inputs, labels):
    model.train()
    opt.zero_grad()
    preds = model(inputs)
    loss = loss_fn(preds, labels)
    loss.backward()
    opt.step()
    return loss.item()

for epoch in range(5):
    value = train_step(net, X, Y)
    print(f"{epoch}: {value:.3f}")
