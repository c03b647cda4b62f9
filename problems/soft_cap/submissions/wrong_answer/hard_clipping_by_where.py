import torch


def soft_cap(x, cap):
    return torch.where(x.abs() > cap, x.sign() * cap, x)
