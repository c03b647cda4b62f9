import torch


def situ_and_mul(gate_up, beta=1.0, linear_beta=None):
    with torch.no_grad():
        gate, up = gate_up.chunk(2, dim=-1)
        if linear_beta is not None and gate_up.dtype == torch.float32 and gate_up.is_contiguous():
            up.div_(linear_beta).tanh_().mul_(linear_beta)
        elif linear_beta is not None:
            up = linear_beta * torch.tanh(up.float() / linear_beta)
        gate, up = gate.float(), up.float()
        return (beta * torch.tanh(gate / beta) * torch.sigmoid(gate) * up).to(gate_up.dtype)
