import torch
from torch import nn


class Weight(nn.Module):
    def __init__(self, rows, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(rows, columns))


class DenseFFN(nn.Module):
    def __init__(self, d_model, d_ff, beta=4.0, linear_beta=25.0):
        super().__init__()
        self.caps = (beta, linear_beta)
        self.gate_up_proj, self.down_proj = Weight(2 * d_ff, d_model), Weight(d_model, d_ff)

    def forward(self, x):
        beta, linear_beta = self.caps
        packed = torch.einsum("...i,oi->...o", x, self.gate_up_proj.weight)
        width = packed.shape[-1] // 2
        gate, up = packed[..., :width], packed[..., width:]
        hidden = beta * torch.tanh(gate / beta) * torch.sigmoid(gate) * linear_beta * torch.tanh(up / linear_beta)
        return torch.einsum("...i,oi->...o", hidden, self.down_proj.weight)
