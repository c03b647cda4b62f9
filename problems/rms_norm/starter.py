import torch


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """Returns x [..., d] divided by its root mean square over the last dimension, times weight [d]."""
    pass
