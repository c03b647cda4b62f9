"""Everything in float64, then cast back."""

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    x = input_tensor.double()
    g = x @ gate_projection.double().t()
    u = x @ up_projection.double().t()
    return (gate_cap * torch.tanh(g / gate_cap) * torch.sigmoid(g) * (up_cap * torch.tanh(u / up_cap))).to(input_tensor.dtype)
