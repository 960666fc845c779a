import torch

dtype = torch.float64
device = torch.device("cpu")

x = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.3, -0.7]], device=device, dtype=dtype)
y = torch.tensor([[1.0], [0.0]], device=device, dtype=dtype)
w1 = torch.tensor([[0.1, -0.2], [0.4, 0.3], [-0.5, 0.25]], device=device, dtype=dtype, requires_grad=True)
w2 = torch.tensor([[0.7], [-0.3]], device=device, dtype=dtype, requires_grad=True)

learning_rate = 1e-6
for t in range(500):
    y_pred = x.mm(w1).clamp(min=0).mm(w2)
    loss = (y_pred - y).pow(2).sum()
    if t % 100 == 99:
        print(t, loss.item())
    loss.backward()
    with torch.no_grad():
        w1 -= learning_rate * w1.grad
        w2 -= learning_rate * w2.grad
        w1.grad.zero_()
        w2.grad.zero_()
