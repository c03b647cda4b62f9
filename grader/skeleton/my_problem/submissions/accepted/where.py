import torch


def my_problem(x, slope=0.01):
    return torch.where(x > 0, x, slope * x)
