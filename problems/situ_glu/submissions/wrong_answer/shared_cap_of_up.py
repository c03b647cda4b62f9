"""The up branch's cap for both branches."""

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    def cap(x, limit=up_cap):
        return limit * torch.tanh(x / limit)

    g = input_tensor @ gate_projection.T
    u = input_tensor @ up_projection.T
    return cap(g) * torch.sigmoid(g) * cap(u)
