import torch

class ScaleShift(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gamma, beta):
        ctx.save_for_backward(x, gamma)
        return gamma * x + beta

    @staticmethod
    def backward(ctx, g):
        x, gamma = ctx.saved_tensors
        return g * gamma, (g * x).sum(0), g.sum(0)

x = torch.randn(3, 3, requires_grad=True)
gamma = torch.randn(3, requires_grad=True)
beta = torch.randn(3, requires_grad=True)
loss = ScaleShift.apply(x, gamma, beta).exp().sum()
loss.backward()
