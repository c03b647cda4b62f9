import torch


def soft_cap(x, cap):
    z = x / cap
    return x * (torch.tanh(z) / z)
