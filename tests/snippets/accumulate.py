import torch
w = torch.tensor(2.0, requires_grad=True)
x = torch.tensor(3.0)
loss1 = (w * x - 1) ** 2
loss1.backward()
print(w.grad)
loss2 = (w * x * 2) ** 2
loss2.backward()
print(w.grad)
