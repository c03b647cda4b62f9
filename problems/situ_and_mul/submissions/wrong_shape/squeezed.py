import torch


def situ_and_mul(gate_up, beta=1.0, linear_beta=None):
    gate, up = gate_up.double().chunk(2, dim=-1)
    if linear_beta is not None:
        up = linear_beta * torch.tanh(up / linear_beta)
    return (beta * torch.tanh(gate / beta) * torch.sigmoid(gate) * up).to(gate_up.dtype).squeeze(0)
