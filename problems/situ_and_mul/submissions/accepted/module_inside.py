import torch
from torch import nn


class SituAndMul(nn.Module):
    def __init__(self, beta=1.0, linear_beta=None):
        super().__init__()
        self.beta = beta
        self.linear_beta = linear_beta

    def forward(self, x):
        d = x.shape[-1] // 2
        gate = x[..., :d].to(torch.float32)
        up = x[..., d:].to(torch.float32)
        situ_a = self.beta * torch.tanh(gate / self.beta) * torch.sigmoid(gate)
        if self.linear_beta is not None:
            up = self.linear_beta * torch.tanh(up / self.linear_beta)
        return (situ_a * up).to(x.dtype)


def situ_and_mul(gate_up, beta=1.0, linear_beta=None):
    return SituAndMul(beta, linear_beta)(gate_up)
