import torch

class Abs(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.abs()

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return torch.where(x >= 0, g, -g)

x = torch.tensor([0.0, -1.0, 2.0], requires_grad=True)
loss = (Abs.apply(x) * torch.tensor([1.0, 2.0, 3.0])).sum()
loss.backward()
