"""Keeps ever more tensors."""

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    kept = []
    while True:
        kept.append(torch.ones(16 << 20))
