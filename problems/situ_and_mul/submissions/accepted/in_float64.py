import torch


def situ_and_mul(gate_up, beta=1.0, linear_beta=None):
    d = gate_up.shape[-1] // 2
    gate, up = gate_up[..., :d].double(), gate_up[..., d:].double()
    if linear_beta is not None:
        up = linear_beta * torch.tanh(up / linear_beta)
    return (beta * torch.tanh(gate / beta) / (1 + torch.exp(-gate)) * up).type_as(gate_up)
