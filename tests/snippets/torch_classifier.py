import torch
import torch.nn as nn

# Hyperparameters
input_size, hidden_size, num_classes = 4, 3, 2
class NeuralNet(nn.Module):
    """A small network."""
    def __init__(self, input_size, hidden_size, num_classes):
        super(NeuralNet, self).__init__()
        self.l1 = nn.Linear(input_size, hidden_size)
        self.relu = nn.ReLU()
        self.l2 = nn.Linear(hidden_size, num_classes)
    def forward(self, x):
        out = self.l1(x)
        out = self.relu(out)
        out = self.l2(out)
        return out
model = NeuralNet(input_size, hidden_size, num_classes).to(torch.device('cuda' if torch.cuda.is_available() else 'cpu'))
print(model)
images = torch.rand(5, 2, 2)
labels = torch.randint(0, num_classes, (5,))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
n_total_steps = len(images)
for epoch in range(2):
    for i in range(1):
        x = images.reshape(-1, 2*2)
        outputs = model(x)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if (i+1) % 100 == 0:
            print(f'Epoch [{epoch+1}/2], Step [{i+1}/{n_total_steps}], Loss: {loss.item():.4f}')
with torch.no_grad():
    n_correct = 0
    outputs = model(x)
    _, predicted = torch.max(outputs.data, 1)
    n_correct += (predicted == labels).sum().item()
    acc = n_correct / labels.size(0)
