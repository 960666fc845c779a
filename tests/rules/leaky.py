import torch
import torch.nn.functional as F

class LeakyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, negative_slope=0.1):
        ctx.save_for_backward(x)
        ctx.negative_slope = negative_slope
        return torch.where(x > 0, x, negative_slope * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[x < 0] *= ctx.negative_slope
        return grad_input, None

x = torch.tensor([-1.0, 0.5, 2.0, -3.0], requires_grad=True)
y = LeakyReLU.apply(x, 0.2)
loss = F.mse_loss(y, torch.ones(4))
loss.backward()
