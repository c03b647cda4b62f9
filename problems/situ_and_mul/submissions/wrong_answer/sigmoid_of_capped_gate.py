import torch


def situ_and_mul(gate_up, beta=1.0, linear_beta=None):
    gate, up = gate_up.float().chunk(2, dim=-1)
    if linear_beta is not None:
        up = linear_beta * torch.tanh(up / linear_beta)
    gate = beta * torch.tanh(gate / beta)
    return (gate * torch.sigmoid(gate) * up).to(gate_up.dtype)
