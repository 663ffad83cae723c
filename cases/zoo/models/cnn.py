"""A CNN of convolutions (padded, dilated, grouped), PReLU, both poolings, flattened into fully connected layers."""
import torch
from torch import nn

from weights import inputs, trained


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.act1 = nn.Conv2d(3, 8, 3, padding=1), nn.PReLU(8)
        self.pool1 = nn.MaxPool2d(3, 2, 1)
        self.conv2, self.act2 = nn.Conv2d(8, 12, 3, padding=2, dilation=2), nn.PReLU(12)
        self.pool2 = nn.AvgPool2d(3, 2, 1, ceil_mode=True)
        self.conv3, self.act3 = nn.Conv2d(12, 12, 3, padding=1, groups=4), nn.LeakyReLU(0.1)
        self.fc1, self.act4 = nn.Linear(12 * 6 * 5, 16), nn.GELU()
        self.norm = nn.LayerNorm(16, eps=1e-3)
        self.fc2, self.fc3, self.soft = nn.Linear(16, 16), nn.Linear(16, 10), nn.Softmax(-1)

    def forward(self, x):
        x = self.pool1(self.act1(self.conv1(x)))
        x = self.pool2(self.act2(self.conv2(x)))
        x = self.act3(self.conv3(x)).flatten(1)
        return self.soft(self.fc3(self.fc2(self.norm(self.act4(self.fc1(x))))))


def make():
    return trained(Net(), 1), (inputs(101, 2, 3, 20, 16),)


if __name__ == "__main__":
    net, x = make()
    with torch.no_grad():
        net(*x)
