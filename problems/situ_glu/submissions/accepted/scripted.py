"""torch.jit.script as a decorator."""

import torch
from torch import Tensor


@torch.jit.script
def situ_glu(
    input_tensor: Tensor, gate_projection: Tensor, up_projection: Tensor, gate_cap: float = 4.0, up_cap: float = 25.0
) -> Tensor:
    g = input_tensor @ gate_projection.T
    u = input_tensor @ up_projection.T
    return gate_cap * torch.tanh(g / gate_cap) * torch.sigmoid(g) * (up_cap * torch.tanh(u / up_cap))
