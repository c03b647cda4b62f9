"""The caps as tensors on the CPU: on a GPU two devices meet in one operation."""

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    caps = torch.tensor([[gate_cap], [up_cap]], dtype=input_tensor.dtype)
    g = input_tensor @ gate_projection.T
    u = input_tensor @ up_projection.T
    return caps[0] * torch.tanh(g / caps[0]) * torch.sigmoid(g) * (caps[1] * torch.tanh(u / caps[1]))
