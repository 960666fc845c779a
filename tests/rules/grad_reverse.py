import torch
from torch.autograd import Function

class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.alpha, None

x = torch.randn(3, 2, requires_grad=True)
loss = GradientReversal.apply(x, 0.5).pow(2).sum()
loss.backward()
