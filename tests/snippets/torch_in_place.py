import torch

# things that trip people up: aliases, views and in-place ops
a = torch.tensor(2.0)
b = a
b += 1                       # a is 3 too
x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
buf = torch.zeros(2, 2)
buf[0] = x[:2] * a
buf[1, :] = x[2:] ** 2
flat = buf.view(-1)
flat[0] *= 2
row = buf[1]
row.add_(1.0)
y = buf.clone()
y.mul_(x.view(2, 2))
y[y > 20] = 0
s = torch.tensor(0.0)
t = s
for v in y.flatten():
    s += torch.tanh(v / 10)
print(t, s)
out = t * a + buf.sum()
out.backward()
print(x.grad)
