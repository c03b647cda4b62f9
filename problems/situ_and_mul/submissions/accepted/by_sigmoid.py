import torch


def situ_and_mul(gate_up, beta=1.0, linear_beta=None):
    gate, up = gate_up.float().chunk(2, dim=-1)
    def cap(z, limit):
        return limit * (2 * torch.sigmoid(2 * z / limit) - 1)

    up = up if linear_beta is None else cap(up, linear_beta)
    return (cap(gate, beta) * torch.sigmoid(gate) * up).to(gate_up.dtype)
