import torch

class Lerp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b, t, name=None):
        ctx.save_for_backward(a, b)
        ctx.t = t
        return a + t * (b - a)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        t = ctx.t
        return (1 - t) * g, t * g, None, None

a = torch.randn(2, 2, requires_grad=True)
b = torch.randn(2, 2, requires_grad=True)
out = Lerp.apply(a, b, 0.3, "lerp")
loss = out.norm()
loss.backward()
