"""A CNN that the engine has in int8 (export.py quantises it, weights by channel)."""
import torch
from torch import nn

from weights import inputs, trained


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.act1 = nn.Conv2d(3, 8, 3, padding=1), nn.ReLU()
        self.conv2, self.act2 = nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8), nn.ReLU()
        self.conv3, self.pool = nn.Conv2d(8, 16, 1), nn.AvgPool2d(2)
        self.fc = nn.Linear(16 * 4 * 3, 10)

    def forward(self, x):
        x = self.act2(self.conv2(self.act1(self.conv1(x))))
        return self.fc(self.pool(self.conv3(x)).flatten(1))


def make():
    return trained(Net(), 7), (inputs(107, 2, 3, 16, 12),)


if __name__ == "__main__":
    net, x = make()
    with torch.no_grad():
        net(*x)
