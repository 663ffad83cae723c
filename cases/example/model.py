"""A small convolutional model, with numbers that show its faults: run by `assay record cases/example/model.py -- WEIGHTS.npz`.

Writes its parameters and its input for another engine (engine.py).
"""

import sys

import numpy
import torch
from torch import nn
from torch.nn import functional


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.act = nn.PReLU(8)
        self.pool = nn.MaxPool2d(2)
        self.norm = nn.LayerNorm(128)
        self.head = nn.Linear(128, 10)

    def forward(self, x):
        x = self.pool(self.act(self.bn(self.conv(x))))
        x = self.norm(x.flatten(1))
        return functional.softmax(functional.gelu(self.head(x)), dim=-1)


def main():
    torch.manual_seed(1)
    net = Net().eval()
    with torch.no_grad():
        for parameter in [*net.bn.parameters(), net.bn.running_mean, *net.norm.parameters()]:
            parameter.copy_(torch.randn_like(parameter))
        net.bn.running_var.copy_(torch.rand_like(net.bn.running_var) + 0.5)
        net.act.weight.copy_(torch.tensor([0.25, -0.5, 1.5, 0.1, -1.25, 0.75, 2.0, 0.01]))
        x = torch.randn(4, 3, 8, 8)
        if len(sys.argv) > 1:
            numpy.savez(sys.argv[1], input=x.numpy(), **{n: t.numpy() for n, t in net.state_dict().items()})
        print(net(x).argmax(1).tolist())


if __name__ == "__main__":
    main()
