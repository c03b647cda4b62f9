import torch
from torch import nn


class DenseFFN(nn.Module):
    def __init__(self, d_model, d_ff, beta=4.0, linear_beta=25.0):
        super().__init__()
        self.beta, self.linear_beta = beta, linear_beta
        self.w1 = nn.Linear(d_model, d_ff, bias=False)
        self.w3 = nn.Linear(d_model, d_ff, bias=False)
        self.w2 = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        left = self.beta * torch.tanh(self.w1(x) / self.beta) * torch.sigmoid(self.w1(x))
        return self.w2(left * self.linear_beta * torch.tanh(self.w3(x) / self.linear_beta))
