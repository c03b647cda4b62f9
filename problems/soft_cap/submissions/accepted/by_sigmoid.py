import torch


def soft_cap(x, cap):
    z = 2 * x.float() / cap
    return (cap * (2 * torch.sigmoid(z) - 1)).to(x.dtype)
