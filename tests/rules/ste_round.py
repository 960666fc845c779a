import torch

class RoundSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output

x = torch.tensor([0.2, 1.7, -0.9], requires_grad=True)
w = torch.tensor([1.0, 2.0, 3.0])
loss = (RoundSTE.apply(x * 2.0) * w).sum()
loss.backward()
