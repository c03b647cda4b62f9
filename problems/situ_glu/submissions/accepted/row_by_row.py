"""One output feature after the other."""

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    columns = []
    for wg, wu in zip(gate_projection, up_projection):
        g, u = (input_tensor * wg).sum(-1), (input_tensor * wu).sum(-1)
        columns.append(gate_cap * torch.tanh(g / gate_cap) * torch.sigmoid(g) * (up_cap * torch.tanh(u / up_cap)))
    return torch.stack(columns, dim=-1)
