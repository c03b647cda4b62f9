"""torch.clamp in place of the scaled tanh."""

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    g = input_tensor @ gate_projection.T
    u = input_tensor @ up_projection.T
    return g.clamp(-gate_cap, gate_cap) * torch.sigmoid(g) * u.clamp(-up_cap, up_cap)
