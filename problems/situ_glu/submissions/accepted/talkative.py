"""Prints what it does, to both streams."""

import sys

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    print("shapes", tuple(input_tensor.shape), tuple(gate_projection.shape), tuple(up_projection.shape))
    g = input_tensor @ gate_projection.T
    u = input_tensor @ up_projection.T
    print("caps", gate_cap, up_cap, file=sys.stderr)
    return gate_cap * torch.tanh(g / gate_cap) * torch.sigmoid(g) * (up_cap * torch.tanh(u / up_cap))
