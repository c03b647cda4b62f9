import torch


def soft_cap(x: torch.Tensor, cap: float) -> torch.Tensor:
    """Returns x held below `cap` smoothly, element by element."""
    pass
