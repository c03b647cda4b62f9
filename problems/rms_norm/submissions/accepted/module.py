import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self, weight, eps):
        super().__init__()
        self.weight, self.eps = weight, eps

    def forward(self, x):
        return x * torch.rsqrt(torch.mean(x * x, -1, keepdim=True) + self.eps) * self.weight


def rms_norm(x, weight, eps=1e-6):
    return Norm(weight.float(), eps)(x.float()).to(x.dtype)
