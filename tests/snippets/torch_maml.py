import torch
import torch.nn.functional as F

w = torch.tensor([[0.5, -1.0], [0.3, 0.8]], requires_grad=True)
b = torch.zeros(2, requires_grad=True)
support = (torch.tensor([[1.0, 2.0], [-1.0, 0.5]]), torch.tensor([0, 1]))
query = (torch.tensor([[0.3, -0.7], [1.2, 1.1]]), torch.tensor([1, 0]))
inner_lr = 0.1

def net(x, params):
    return x.mm(params['w']) + params['b']

params = {'w': w, 'b': b}
fast = dict(params)
for _ in range(2):
    inner = F.cross_entropy(net(support[0], fast), support[1])
    grads = torch.autograd.grad(inner, list(fast.values()), create_graph=True)
    fast = {k: p - inner_lr * g for (k, p), g in zip(fast.items(), grads)}
outer = F.cross_entropy(net(query[0], fast), query[1])
outer.backward()
print(outer.item(), w.grad, b.grad)
