import torch


def soft_cap(x, cap):
    z = x / cap
    return torch.where(z.abs() < 0.5, x * (1 - z * z / 3), cap * torch.tanh(z))
