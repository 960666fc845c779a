import torch
w = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
x = torch.tensor([0.3, 0.1, -0.4])

loss = (w * x).sum() ** 2
loss.backward()
print("first:", w.grad)

w.grad.zero_()
loss = torch.exp(-(w * x).sum())
loss.backward()
print("second:", w.grad)
