import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.cuda.amp import custom_fwd, custom_bwd

class Softshrink(Function):
    @staticmethod
    @custom_fwd
    def forward(ctx, x, lam: float = 0.5):
        ctx.save_for_backward(x)
        ctx.lam = lam
        with torch.no_grad():
            y = torch.where(x > lam, x - lam, torch.where(x < -lam, x + lam, torch.zeros_like(x)))
        return y

    @staticmethod
    @once_differentiable
    @custom_bwd
    def backward(ctx, grad_y):
        (x,) = ctx.saved_tensors
        grad_x = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_y * (x.abs() > ctx.lam).to(grad_y.dtype)
        return grad_x, None

x = torch.tensor([0.2, -1.0, 1.5], requires_grad=True)
loss = (Softshrink.apply(x) * 2).sum()
loss.backward()
