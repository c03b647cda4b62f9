"""Leading dimensions flattened for mm, and put back at the end."""

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    leading = input_tensor.shape[:-1]
    x = input_tensor.reshape(-1, input_tensor.shape[-1])
    g, u = torch.mm(x, gate_projection.t()), torch.mm(x, up_projection.t())
    y = gate_cap * torch.tanh(g / gate_cap) * torch.sigmoid(g) * (up_cap * torch.tanh(u / up_cap))
    return y.reshape(*leading, gate_projection.shape[0])
