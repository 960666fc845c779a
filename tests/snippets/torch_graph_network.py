import torch
import torch.nn as nn
import torch.nn.functional as F

edge_index = torch.tensor([[0, 1, 1, 2, 3, 0], [1, 0, 2, 1, 0, 3]])
x = torch.tensor([[0.1, 0.5], [0.9, -0.3], [-0.4, 0.2], [0.7, 0.7]])

class GCNConv(nn.Module):
    def __init__(self, in_ch, out_ch):
        super().__init__()
        self.lin = nn.Linear(in_ch, out_ch, bias=False)
        self.bias = nn.Parameter(torch.empty(out_ch))
        self.reset_parameters()

    def reset_parameters(self):
        self.lin.weight.data.copy_(torch.linspace(0.1, 1.0, self.lin.weight.numel()).view_as(self.lin.weight))
        self.bias.data.zero_()

    def forward(self, x, edge_index):
        row, col = edge_index
        x = self.lin(x)
        n = x.size(0)
        deg = torch.zeros(n).index_add(0, col, torch.ones(col.numel())) + 1
        norm = deg.pow(-0.5)
        msg = norm[row].unsqueeze(1) * norm[col].unsqueeze(1) * x[row]
        out = torch.zeros_like(x)
        out.index_add_(0, col, msg)
        out = out + x / deg.unsqueeze(-1)
        return out + self.bias

class GCN(nn.Module):
    def __init__(self, hidden):
        super(GCN, self).__init__()
        self.conv1 = GCNConv(2, hidden)
        self.conv2 = GCNConv(hidden, 2)

    def forward(self, x, edge_index):
        x = self.conv1(x, edge_index).relu()
        x = F.dropout(x, p=0.5, training=self.training)
        x = self.conv2(x, edge_index)
        return F.log_softmax(x, dim=1)

model = GCN(3).eval()
y = torch.tensor([0, 1, 0, 1])
train_mask = torch.tensor([True, True, False, True])
out = model(x, edge_index)
loss = F.nll_loss(out[train_mask], y[train_mask])
loss.backward()
acc = int((out.argmax(dim=1)[~train_mask] == y[~train_mask]).sum()) / int((~train_mask).sum())
print(f'Loss: {loss:.4f}, Acc: {acc:.2f}')
