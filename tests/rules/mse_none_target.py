import torch
from torch.autograd import Function

class MSE(Function):
    @staticmethod
    def forward(ctx, y_pred, y):
        ctx.save_for_backward(y_pred, y)
        return ((y_pred - y) ** 2).mean()

    @staticmethod
    def backward(ctx, grad_output):
        y_pred, y = ctx.saved_tensors
        grad_input = 2.0 * (y_pred - y) / y_pred.numel()
        return grad_output * grad_input, None

x = torch.randn(4, 3)
w = torch.randn(3, 1, requires_grad=True)
y = torch.randn(4, 1)
loss = MSE.apply(x @ w, y)
loss.backward()
