"""torch.mm takes two dimensions and no other number."""

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    g, u = torch.mm(input_tensor, gate_projection.T), torch.mm(input_tensor, up_projection.T)
    return gate_cap * torch.tanh(g / gate_cap) * torch.sigmoid(g) * (up_cap * torch.tanh(u / up_cap))
