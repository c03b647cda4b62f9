import torch


def soft_cap(x, cap):
    return (cap * torch.tanh(x / cap)).squeeze(-1)
