import torch

class AddN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, *tensors):
        ctx.n = len(tensors)
        out = tensors[0]
        for t in tensors[1:]:
            out = out + t
        return out

    @staticmethod
    def backward(ctx, grad):
        return tuple(grad for _ in range(ctx.n))

a = torch.randn(3, requires_grad=True)
b = torch.randn(3, requires_grad=True)
c = torch.randn(3, requires_grad=True)
loss = AddN.apply(a, b, c).pow(2).sum()
loss.backward()
