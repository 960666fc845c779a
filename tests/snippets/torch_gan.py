import torch
import torch.nn as nn

class Generator(nn.Module):
    def __init__(self, latent_dim=2, img_shape=(1, 2, 2)):
        super().__init__()
        self.img_shape = img_shape
        def block(in_feat, out_feat, normalize=True):
            layers = [nn.Linear(in_feat, out_feat)]
            if normalize:
                layers.append(nn.BatchNorm1d(out_feat, 0.8))
            layers.append(nn.LeakyReLU(0.2, inplace=True))
            return layers
        self.model = nn.Sequential(
            *block(latent_dim, 3, normalize=False),
            *block(3, 4),
            nn.Linear(4, int(torch.prod(torch.tensor(img_shape)))),
            nn.Tanh()
        )
    def forward(self, z):
        img = self.model(z)
        img = img.view(img.size(0), *self.img_shape)
        return img

class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(4, 3), nn.LeakyReLU(0.2, inplace=True), nn.Linear(3, 1), nn.Sigmoid())
    def forward(self, img):
        return self.model(img.view(img.size(0), -1))

adversarial_loss = torch.nn.BCELoss()
generator, discriminator = Generator(), Discriminator()
for net in (generator, discriminator):
    for k, v in net.state_dict().items():
        if v.dtype.is_floating_point and 'running' not in k:
            v.copy_(torch.linspace(-0.7, 0.9, v.numel()).view_as(v))
optimizer_G = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
imgs = torch.linspace(-1, 1, 12).view(3, 1, 2, 2)
valid = torch.ones(imgs.size(0), 1)
fake = torch.zeros(imgs.size(0), 1)
optimizer_G.zero_grad()
z = torch.tensor([[0.5, -1.0], [1.5, 0.3], [-0.2, 0.8]])
gen_imgs = generator(z)
g_loss = adversarial_loss(discriminator(gen_imgs), valid)
g_loss.backward()
optimizer_G.step()
optimizer_D.zero_grad()
real_loss = adversarial_loss(discriminator(imgs), valid)
fake_loss = adversarial_loss(discriminator(gen_imgs.detach()), fake)
d_loss = (real_loss + fake_loss) / 2
d_loss.backward()
optimizer_D.step()
print("[D loss: %f] [G loss: %f]" % (d_loss.item(), g_loss.item()))
