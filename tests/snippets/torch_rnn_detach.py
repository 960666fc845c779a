import torch

torch.set_default_dtype(torch.float64)
Wx = torch.tensor([[0.5, -0.3], [0.8, 0.2]], requires_grad=True)
Wh = torch.tensor([[0.1, 0.4], [-0.6, 0.3]], requires_grad=True)
xs = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, -1.0]])
h = torch.zeros(2)
total_loss = 0
for t, x in enumerate(xs):
    if t % 2 == 0:
        h = h.detach()
    h = torch.tanh(Wx @ x + Wh @ h)
    total_loss += (h ** 2).sum()
total_loss.backward()
print(Wh.grad)
