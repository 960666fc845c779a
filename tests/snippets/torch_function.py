import torch
class MyLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w)
        return x @ w.t() + b
    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        grad_x = grad_output @ w
        grad_w = grad_output.t() @ x
        grad_b = grad_output.sum(dim=0)
        return grad_x, grad_w, grad_b
x = torch.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]], requires_grad=True)
w = torch.tensor([[0.1, 0.2, 0.3], [0.4, -0.5, 0.6]], requires_grad=True)
b = torch.zeros(2, requires_grad=True)
y = MyLinear.apply(x, w, b)
loss = y.pow(2).sum()
loss.backward()
