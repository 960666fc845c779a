import torch
from torch.autograd import Function

class PolarFn(Function):
    @staticmethod
    def forward(ctx, x, y):
        r = torch.sqrt(x * x + y * y)
        theta = torch.atan2(y, x)
        ctx.save_for_backward(x, y, r)
        return r, theta

    @staticmethod
    def backward(ctx, grad_r, grad_theta):
        x, y, r = ctx.saved_tensors
        grad_x = grad_r * x / r - grad_theta * y / r**2
        grad_y = grad_r * y / r + grad_theta * x / r**2
        return grad_x, grad_y

x = torch.tensor([1.0, -0.5, 2.0], requires_grad=True)
y = torch.tensor([0.3, 1.5, -1.0], requires_grad=True)
r, theta = PolarFn.apply(x, y)
loss = (r * theta).sum() + theta.pow(2).sum()
loss.backward()
