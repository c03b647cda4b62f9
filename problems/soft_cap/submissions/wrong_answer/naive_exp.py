import torch


def soft_cap(x, cap):
    e = torch.exp(2 * x / cap)
    return cap * (e - 1) / (e + 1)
