"""Computed as [d_ff, tokens] and turned round at the end: the result is not contiguous."""

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    x = input_tensor.reshape(-1, input_tensor.shape[-1])
    g, u = gate_projection @ x.T, up_projection @ x.T
    y = (gate_cap * torch.tanh(g / gate_cap) * torch.sigmoid(g) * (up_cap * torch.tanh(u / up_cap))).T
    return y.unflatten(0, input_tensor.shape[:-1]) if input_tensor.dim() > 1 else y[0]
