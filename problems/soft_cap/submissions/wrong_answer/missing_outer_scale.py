import torch


def soft_cap(x, cap):
    return torch.tanh(x / cap)
