"""Two mistakes: clipped, and both branches with the gate's cap."""

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    low, high = torch.tensor([-gate_cap, gate_cap], dtype=input_tensor.dtype, device=input_tensor.device)
    g = input_tensor @ gate_projection.T
    u = input_tensor @ up_projection.T
    gate = torch.maximum(torch.minimum(g, high), low) * torch.sigmoid(g)
    return gate * torch.maximum(torch.minimum(u, high), low)
