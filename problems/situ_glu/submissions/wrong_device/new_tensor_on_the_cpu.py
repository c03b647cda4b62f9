"""The result is copied into a tensor made without the input's device."""

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    g = input_tensor @ gate_projection.T
    u = input_tensor @ up_projection.T
    y = torch.empty(*input_tensor.shape[:-1], gate_projection.shape[0], dtype=input_tensor.dtype)
    return y.copy_(gate_cap * torch.tanh(g / gate_cap) * torch.sigmoid(g) * (up_cap * torch.tanh(u / up_cap)))
