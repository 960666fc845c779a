import torch

class Inverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, A):
        Ainv = torch.inverse(A)
        ctx.save_for_backward(Ainv)
        return Ainv

    @staticmethod
    def backward(ctx, grad):
        Ainv, = ctx.saved_tensors
        return -Ainv.t() @ grad @ Ainv.t()

A = torch.tensor([[2.0, 0.3, 0.1], [-0.4, 1.5, 0.2], [0.7, 0.1, 1.8]], requires_grad=True)
B = torch.tensor([[1.0, 2.0, 0.0], [0.5, -1.0, 1.0], [0.0, 1.0, 3.0]])
loss = (Inverse.apply(A) * B).sum()
loss.backward()
