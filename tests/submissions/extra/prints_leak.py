# Prints the inputs of every call: those of hidden cases must not be shown.
import sys

import torch

MARK = "canary_prints_" "leak"
BIG = 20_000


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    if input_tensor.numel() + gate_projection.numel() + up_projection.numel() >= BIG:
        print(MARK, input_tensor.flatten()[:4].tolist(), flush=True)
        print(MARK, file=sys.stderr, flush=True)
    g, u = input_tensor @ gate_projection.T, input_tensor @ up_projection.T
    return gate_cap * torch.tanh(g / gate_cap) * torch.sigmoid(g) * up_cap * torch.tanh(u / up_cap)
