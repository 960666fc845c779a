import torch
torch.manual_seed(42)
batch, seq, dim = 2, 3, 4
rnn = torch.nn.RNN(dim, 5, batch_first=True)
lstm = torch.nn.LSTM(dim, 5, num_layers=1, batch_first=True)
x = torch.randn(batch, seq, dim)
out, h = rnn(x)
out2, (hn, cn) = lstm(x)
loss = out.sum() + out2[:, -1].sum()
loss.backward()
for name, param in rnn.named_parameters():
    print(f"{name:>12}: {param.grad.abs().mean():.4e}")
