import torch
from torch import nn


class Situ(nn.Module):
    def __init__(self, beta, linear_beta):
        super().__init__()
        self.beta, self.linear_beta = beta, linear_beta

    def forward(self, packed):
        gate, up = packed.to(torch.float32).chunk(2, dim=-1)
        left = self.beta * torch.tanh(gate / self.beta) * torch.sigmoid(gate)
        return (left * self.linear_beta * torch.tanh(up / self.linear_beta)).to(packed.dtype)


class DenseFFN(nn.Module):
    def __init__(self, d_model, d_ff, beta=4.0, linear_beta=25.0):
        super().__init__()
        self.gate_up_proj = nn.Linear(d_model, 2 * d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)
        self.act = Situ(beta, linear_beta)

    def forward(self, x):
        return self.down_proj(self.act(self.gate_up_proj(x)))
