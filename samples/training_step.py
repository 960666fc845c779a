# A PyTorch training loop as it is pasted: one pass of it is derived.
# Look for the gradients of model.weight and model.bias, and the note where the pass ends.
import torch
from torch import nn

model = nn.Linear(2, 1)
model.weight.data = torch.tensor([[0.5, -1.0]])
model.bias.data.fill_(0.1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.tensor([[1.0, 2.0], [3.0, -1.0]])
for epoch in range(100):
    loss = (model(x) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
