"""tanh of the bare projection, which is what cap * tanh(x) / cap comes to."""

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    g = input_tensor @ gate_projection.T
    u = input_tensor @ up_projection.T
    return torch.tanh(g) * torch.sigmoid(g) * torch.tanh(u)
