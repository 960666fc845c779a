import torch

class BinarizeSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return torch.sign(input)

    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input.abs() > 1] = 0
        return grad_input

x = torch.tensor([0.2, 1.7, -0.9], requires_grad=True)
loss = (BinarizeSTE.apply(x) * torch.tensor([1.0, 2.0, 3.0])).sum()
loss.backward()
