import torch

class ScatterAdd(torch.autograd.Function):
    @staticmethod
    def forward(ctx, src, index, dim_size):
        ctx.save_for_backward(index)
        out = torch.zeros(dim_size, src.size(1))
        return out.index_add(0, index, src)

    @staticmethod
    def backward(ctx, grad_out):
        index, = ctx.saved_tensors
        return grad_out[index], None, None

src = torch.randn(5, 3, requires_grad=True)
index = torch.tensor([0, 2, 1, 1, 2])
out = ScatterAdd.apply(src, index, 3)
loss = out.pow(3).sum()
loss.backward()
