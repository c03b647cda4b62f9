import torch


def my_problem(x, slope=0.01):
    return torch.maximum(x, slope * x)
