# -*- coding: latin-1 -*-
# é ü ß: saved in Latin-1, as its first line says
import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    größe = "é"
    assert len(größe) == 1
    g, u = input_tensor @ gate_projection.T, input_tensor @ up_projection.T
    return gate_cap * torch.tanh(g / gate_cap) * torch.sigmoid(g) * up_cap * torch.tanh(u / up_cap)
