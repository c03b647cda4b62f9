import torch


def situ_and_mul(gate_up, beta=1.0, linear_beta=None):
    gate, up = gate_up.chunk(2, dim=-1)
    weight, gate, up = torch.sigmoid(gate).float(), gate.float(), up.float()
    if linear_beta is not None:
        up = linear_beta * torch.tanh(up / linear_beta)
    return (beta * torch.tanh(gate / beta) * weight * up).to(gate_up.dtype)
