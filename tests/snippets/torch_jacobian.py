import torch
W = torch.tensor([[0.5, -0.2], [0.1, 0.9]], requires_grad=True)
x = torch.tensor([1.0, 2.0], requires_grad=True)
f = lambda x: torch.tanh(W @ x)
y = f(x)
J = torch.zeros(2, 2)
for i in range(2):
    J[i] = torch.autograd.grad(y[i], x, retain_graph=True, create_graph=True)[0]
reg = (J ** 2).sum()
loss = y.sum() + 0.1 * reg
loss.backward(create_graph=True)
gn = W.grad.pow(2).sum()
gn.backward()
print(W.grad)
