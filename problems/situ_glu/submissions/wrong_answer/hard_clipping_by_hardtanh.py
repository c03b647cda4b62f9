"""The same clip in the disguise of F.hardtanh."""

import torch
import torch.nn.functional as F


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    g = input_tensor @ gate_projection.T
    u = input_tensor @ up_projection.T
    gate = F.hardtanh(g / gate_cap) * gate_cap * torch.sigmoid(g)
    return gate * F.hardtanh(u, -float(up_cap), float(up_cap))
