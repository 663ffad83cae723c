# A program that takes its time over many small calls, for killed_runs: ARGV is how many, and the seconds between them.
import sys
import time

import torch

torch.manual_seed(0)
x = torch.randn(8, 8)
for step in range(int(sys.argv[1])):
    x = torch.relu(x @ x.T / 8) + step / 1000
    time.sleep(float(sys.argv[2]))
