"""A test of its own fails while the file is loaded."""

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    g = input_tensor @ gate_projection.T
    u = input_tensor @ up_projection.T
    return gate_cap * torch.tanh(g / gate_cap) * torch.sigmoid(g) * (up_cap * torch.tanh(u / up_cap))


assert situ_glu(torch.ones(2, 3), torch.ones(4, 3), torch.ones(4, 3)).shape == (2, 3)
