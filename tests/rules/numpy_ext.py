import torch
from torch.autograd import Function
import numpy as np

class Sig(Function):
    @staticmethod
    def forward(ctx, input):
        x = input.detach().numpy()
        result = 1 / (1 + np.exp(-x))
        out = torch.as_tensor(result)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, grad_output):
        out, = ctx.saved_tensors
        return grad_output * out * (1 - out)

x = torch.randn(3, 2, requires_grad=True)
loss = Sig.apply(x).pow(2).sum()
loss.backward()
