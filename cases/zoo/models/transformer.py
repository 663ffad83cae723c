"""A decoder block in the way of Llama: RMS norm, rotary positions, grouped queries with a causal mask, a gated MLP."""
import numpy
import torch
from torch import nn

from weights import inputs, trained

WIDTH, HEADS, PAIRS, SIZE, STEPS = 32, 4, 2, 8, 7


class RMSNorm(nn.Module):
    def __init__(self, n, eps=1e-5):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(n)), eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Rotary(nn.Module):
    """Halves, not neighbours, are turned together."""
    constants = ("cos", "sin")

    def __init__(self):
        super().__init__()
        angle = numpy.arange(STEPS)[:, None] * 100.0 ** (-numpy.arange(0, SIZE, 2) / SIZE)
        angle = numpy.concatenate([angle, angle], -1).astype(numpy.float32)
        self.register_buffer("cos", torch.from_numpy(numpy.cos(angle)))
        self.register_buffer("sin", torch.from_numpy(numpy.sin(angle)))

    def forward(self, x):
        a, b = x.chunk(2, -1)
        return x * self.cos + torch.cat([-b, a], -1) * self.sin


class Attention(nn.Module):
    constants = ("mask",)

    def __init__(self):
        super().__init__()
        self.q, self.k = nn.Linear(WIDTH, HEADS * SIZE, bias=False), nn.Linear(WIDTH, PAIRS * SIZE, bias=False)
        self.v, self.o = nn.Linear(WIDTH, PAIRS * SIZE, bias=False), nn.Linear(HEADS * SIZE, WIDTH, bias=False)
        self.rotate_q, self.rotate_k, self.soft = Rotary(), Rotary(), nn.Softmax(-1)
        self.register_buffer("mask", torch.from_numpy(numpy.triu(numpy.full((STEPS, STEPS), -1e4, numpy.float32), 1)))

    def forward(self, x):
        b, t, _ = x.shape
        q = self.rotate_q(self.q(x).view(b, t, HEADS, SIZE).transpose(1, 2))
        k = self.rotate_k(self.k(x).view(b, t, PAIRS, SIZE).transpose(1, 2))
        v = self.v(x).view(b, t, PAIRS, SIZE).transpose(1, 2)
        k, v = (y[:, :, None].expand(b, PAIRS, HEADS // PAIRS, t, SIZE).reshape(b, HEADS, t, SIZE) for y in (k, v))
        w = self.soft(q @ k.transpose(-1, -2) * SIZE ** -0.5 + self.mask)
        return self.o((w @ v).transpose(1, 2).reshape(b, t, HEADS * SIZE))


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.up = nn.Linear(WIDTH, 48, bias=False), nn.Linear(WIDTH, 48, bias=False)
        self.down, self.act = nn.Linear(48, WIDTH, bias=False), nn.SiLU()

    def forward(self, x):
        return self.down(self.act(self.gate(x)) * self.up(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.attention, self.norm2, self.mlp = RMSNorm(WIDTH), Attention(), RMSNorm(WIDTH), Gated()
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 20)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return self.head(self.norm(x))


def make():
    return trained(Net(), 4), (inputs(104, 2, STEPS, WIDTH),)


if __name__ == "__main__":
    net, x = make()
    with torch.no_grad():
        net(*x)
