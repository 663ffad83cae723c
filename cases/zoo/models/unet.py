"""A U-Net: group and instance norm, a convolution transposed, upsampling to the nearest and bilinear, skips by concatenation."""
import torch
from torch import nn

from weights import inputs, trained


class Double(nn.Module):
    def __init__(self, i, o, norm):
        super().__init__()
        self.conv, self.norm, self.act = nn.Conv2d(i, o, 3, padding=1), norm, nn.ELU(0.7)

    def forward(self, x):
        return self.act(self.norm(self.conv(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = Double(3, 8, nn.GroupNorm(2, 8)), Double(8, 12, nn.InstanceNorm2d(12, affine=True))
        self.pool, self.middle = nn.MaxPool2d(2), Double(12, 16, nn.GroupNorm(4, 16))
        self.up2 = nn.Upsample(scale_factor=2, mode="nearest")
        self.merge2 = nn.Conv2d(28, 12, 3, padding=1)
        self.up1 = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.merge1 = nn.Conv2d(20, 8, 3, padding=1)
        self.wide = nn.ConvTranspose2d(8, 6, 3, stride=2, padding=1, output_padding=1)
        self.out, self.gate = nn.Conv2d(6, 2, 1), nn.Sigmoid()

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(self.pool(a))
        y = self.middle(self.pool(b))
        y = self.merge2(torch.cat([b, self.up2(y)], 1)).relu()
        y = self.merge1(torch.cat([a, self.up1(y)], 1)).relu()
        return self.gate(self.out(self.wide(y)))


def make():
    return trained(Net(), 6), (inputs(106, 2, 3, 16, 12),)


if __name__ == "__main__":
    net, x = make()
    with torch.no_grad():
        net(*x)
