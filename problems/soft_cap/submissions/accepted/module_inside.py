import torch
from torch import nn


class SoftCap(nn.Module):
    def __init__(self, cap):
        super().__init__()
        self.cap = cap

    def forward(self, x):
        return torch.tanh(x / self.cap) * self.cap


def soft_cap(x, cap):
    return SoftCap(cap)(x)
