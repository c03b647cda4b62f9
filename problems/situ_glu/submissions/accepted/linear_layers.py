"""F.linear takes [out, in], which is how the projections are stored."""

import torch.nn.functional as F


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    g = F.linear(input_tensor, gate_projection)
    u = F.linear(input_tensor, up_projection)
    return F.tanh(g / gate_cap).mul(gate_cap) * F.sigmoid(g) * F.tanh(u / up_cap).mul(up_cap)
