"""The sigmoid as exp(logsigmoid), which stays finite on both sides."""

import torch
import torch.nn.functional as F


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    g = input_tensor @ gate_projection.T
    u = input_tensor @ up_projection.T
    gate = gate_cap * torch.tanh(g / gate_cap) * F.logsigmoid(g).exp()
    return gate * (up_cap * torch.tanh(u / up_cap))
