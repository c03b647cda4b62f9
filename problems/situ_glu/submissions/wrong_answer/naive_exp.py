"""exp(g) / (1 + exp(g)) is inf / inf for large gates."""

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    g = input_tensor @ gate_projection.T
    u = input_tensor @ up_projection.T
    s = torch.exp(g) / (1 + torch.exp(g))
    return gate_cap * torch.tanh(g / gate_cap) * s * (up_cap * torch.tanh(u / up_cap))
