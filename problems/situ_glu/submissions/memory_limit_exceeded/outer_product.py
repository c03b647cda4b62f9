"""One allocation of far more than there is."""

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    return torch.ones(1 << 20, 1 << 20)[: len(gate_projection)]
