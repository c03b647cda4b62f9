import torch


def situ_and_mul(gate_up, beta=1.0, linear_beta=None):
    gate, up = gate_up.chunk(2, dim=-1)
    situ = (beta * torch.tanh(gate / beta)).float() * torch.sigmoid(gate).float()
    if linear_beta is not None:
        up = linear_beta * torch.tanh(up / linear_beta)
    return (situ * up.float()).to(gate_up.dtype)
