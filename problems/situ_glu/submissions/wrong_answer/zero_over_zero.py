"""tanh(z) / z is 0 / 0 where a projection is exactly 0."""

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    g = input_tensor @ gate_projection.T
    u = input_tensor @ up_projection.T
    zg, zu = g / gate_cap, u / up_cap
    return g * torch.sigmoid(g) * (torch.tanh(zg) / zg) * u * (torch.tanh(zu) / zu)
