import torch
from torch import nn


class DenseFFN(nn.Module):
    """Feed-forward block: [..., d_model] to [..., d_model]."""

    def __init__(self, d_model: int, d_ff: int, beta: float = 4.0, linear_beta: float = 25.0) -> None:
        super().__init__()
        # gate_up_proj.weight [2*d_ff, d_model], down_proj.weight [d_model, d_ff]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass
