"""Everything in float32, projections included, then cast back."""

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    x, wg, wu = (t.float() for t in (input_tensor, gate_projection, up_projection))
    g, u = x @ wg.T, x @ wu.T
    return (gate_cap * torch.tanh(g / gate_cap) * torch.sigmoid(g) * (up_cap * torch.tanh(u / up_cap))).type_as(input_tensor)
