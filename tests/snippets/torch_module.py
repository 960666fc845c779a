import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(2, 3)
        self.fc2 = nn.Linear(3, 2)
        with torch.no_grad():
            self.fc1.weight.copy_(torch.tensor([[0.1, 0.2], [0.3, -0.4], [0.5, 0.6]]))

    def forward(self, x):
        h = F.relu(self.fc1(x))
        out = self.fc2(h)
        return out

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Net().to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.tensor([[1.0, 0.5], [0.2, -0.3]]).to(device)
y = torch.tensor([0, 1]).to(device)
losses = []
for epoch in range(100):
    optimizer.zero_grad()
    out = model(x)
    loss = criterion(out, y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if epoch % 10 == 0:
        print(f"epoch {epoch}: {loss.item():.4f}")
