import torch


def situ_and_mul(gate_up: torch.Tensor, beta: float = 1.0, linear_beta: float | None = None) -> torch.Tensor:
    """Returns [..., d_ff] for a packed [..., 2*d_ff], gate first."""
    pass
