import torch

class BMM(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.bmm(a, b)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        ga = torch.bmm(g, b.transpose(1, 2))
        gb = torch.bmm(a.transpose(1, 2), g)
        return ga, gb

a = torch.randn(2, 3, 3, requires_grad=True)
b = torch.randn(2, 3, 3, requires_grad=True)
loss = BMM.apply(a, b).sin().sum()
loss.backward()
