"""The projections become Parameters in each call."""

import torch
import torch.nn.functional as F


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    gate_weight, up_weight = torch.nn.Parameter(gate_projection), torch.nn.Parameter(up_projection)
    g, u = F.linear(input_tensor, gate_weight), F.linear(input_tensor, up_weight)
    return gate_cap * torch.tanh(g / gate_cap) * torch.sigmoid(g) * (up_cap * torch.tanh(u / up_cap))
