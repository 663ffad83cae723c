"""Two recurrent layers: an LSTM in both directions and a GRU, then a fully connected layer of the last step."""
import torch
from torch import nn

from weights import inputs, trained


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 10, batch_first=True, bidirectional=True)
        self.act = nn.Tanh()
        self.gru = nn.GRU(20, 9, batch_first=True)
        self.head = nn.Linear(9, 5)

    def forward(self, x):
        x, _ = self.lstm(x)
        x, _ = self.gru(self.act(x))
        return self.head(x[:, -1])


def make():
    return trained(Net(), 5), (inputs(105, 3, 7, 6),)


if __name__ == "__main__":
    net, x = make()
    with torch.no_grad():
        net(*x)
