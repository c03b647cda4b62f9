import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    g, u = input_tensor @ gate_projection.T, input_tensor @ up_projection.T
    return g.clamp(-gate_cap, gate_cap) * torch.sigmoid(g) * 25.0 * torch.tanh(u / 25.0)
