"""view() on tensors that are not contiguous."""

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    d_ff, d_in = gate_projection.shape
    g = input_tensor @ gate_projection.view(-1).view(d_ff, d_in).T
    u = input_tensor @ up_projection.view(-1).view(d_ff, d_in).T
    return gate_cap * torch.tanh(g / gate_cap) * torch.sigmoid(g) * (up_cap * torch.tanh(u / up_cap))
