"""Inverted residuals in the way of MobileNetV3: many batch norms, depthwise convolutions, hardswish, squeeze and excitation."""
import torch
from torch import nn

from weights import inputs, trained


def conv(i, o, k, stride=1, groups=1, act=True):
    layers = [nn.Conv2d(i, o, k, stride, k // 2, groups=groups, bias=False), nn.BatchNorm2d(o, eps=1e-3)]
    return nn.Sequential(*layers, *([nn.Hardswish()] if act else []))


class Squeeze(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.pool, self.down, self.relu = nn.AdaptiveAvgPool2d(1), nn.Conv2d(c, c // 4, 1), nn.ReLU()
        self.up, self.gate = nn.Conv2d(c // 4, c, 1), nn.Hardsigmoid()

    def forward(self, x):
        return x * self.gate(self.up(self.relu(self.down(self.pool(x)))))


class Inverted(nn.Module):
    def __init__(self, i, o, wide, k, stride):
        super().__init__()
        self.expand, self.depth = conv(i, wide, 1), conv(wide, wide, k, stride, wide)
        self.squeeze, self.project = Squeeze(wide), conv(wide, o, 1, act=False)
        self.residual = stride == 1 and i == o

    def forward(self, x):
        y = self.project(self.squeeze(self.depth(self.expand(x))))
        return x + y if self.residual else y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = conv(3, 8, 3, 2)
        self.blocks = nn.Sequential(Inverted(8, 8, 16, 3, 1), Inverted(8, 12, 24, 5, 2), Inverted(12, 12, 24, 3, 1))
        self.head, self.pool = conv(12, 32, 1), nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Linear(32, 24), nn.Hardswish(), nn.Linear(24, 10))

    def forward(self, x):
        return self.classifier(self.pool(self.head(self.blocks(self.stem(x)))).flatten(1))


def make():
    return trained(Net(), 2), (inputs(102, 2, 3, 20, 16),)


if __name__ == "__main__":
    net, x = make()
    with torch.no_grad():
        net(*x)
