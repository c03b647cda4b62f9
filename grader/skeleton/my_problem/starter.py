import torch


def my_problem(x: torch.Tensor, slope: float = 0.01) -> torch.Tensor:
    """Returns x where it is above 0, slope times x elsewhere."""
    pass
