import torch


def situ_and_mul(gate_up, beta=1.0, linear_beta=None):
    if gate_up.dim() < 2 or gate_up.shape[0] % 2:
        gate, up = gate_up.float().chunk(2, dim=-1)
    else:
        gate, up = gate_up.float().chunk(2, dim=0)
    if linear_beta is not None:
        up = linear_beta * torch.tanh(up / linear_beta)
    return (beta * torch.tanh(gate / beta) * torch.sigmoid(gate) * up).to(gate_up.dtype)
