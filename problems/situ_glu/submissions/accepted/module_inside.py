"""Modules for the parts, made anew in each call."""

import torch
from torch import nn


class SoftCap(nn.Module):
    def __init__(self, limit):
        super().__init__()
        self.limit = limit

    def forward(self, x):
        return torch.tanh(x / self.limit) * self.limit


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    with torch.device(input_tensor.device):
        gate_cap, up_cap = SoftCap(gate_cap), SoftCap(up_cap)
    g = input_tensor @ gate_projection.T
    u = input_tensor @ up_projection.T
    return gate_cap(g) * nn.Sigmoid()(g) * up_cap(u)
