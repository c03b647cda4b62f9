"""Two mistakes: no cap on the up branch, and the sigmoid reads the capped gate."""

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    g = input_tensor @ gate_projection.T
    u = input_tensor @ up_projection.T
    g = gate_cap * torch.tanh(g / gate_cap)
    return torch.nn.functional.silu(g) * u
