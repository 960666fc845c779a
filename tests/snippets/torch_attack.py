import torch
import torch.nn as nn
import torch.nn.functional as F

model = nn.Sequential(nn.Flatten(), nn.Linear(4, 3))
model[1].weight.data = torch.arange(12.).reshape(3, 4) / 12
model[1].bias.data = torch.tensor([0.1, 0.0, -0.1])
scaler = torch.cuda.amp.GradScaler(enabled=False)
image = torch.tensor([[[0.1, 0.4], [0.3, 0.9]]])
label = torch.tensor([2])
image.requires_grad = True

def fgsm_attack(image, epsilon, data_grad):
    sign_data_grad = data_grad.sign()
    perturbed_image = image + epsilon * sign_data_grad
    perturbed_image = torch.clamp(perturbed_image, 0, 1)
    return perturbed_image

with torch.autocast(device_type='cpu', enabled=False):
    output = model(image)
    loss = F.nll_loss(F.log_softmax(output, dim=1), label)
model.zero_grad()
loss.backward()
data_grad = image.grad.data
perturbed = fgsm_attack(image, 0.03, data_grad)
with torch.no_grad():
    out2 = model(perturbed)
pred = out2.max(1, keepdim=True)[1]
print(pred.item() == label.item(), image.grad)
