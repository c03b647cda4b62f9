import torch


def soft_cap(x, cap):
    e = torch.expm1(-2 * x.double().abs() / cap)
    return (x.sign().double() * cap * -e / (e + 2)).to(x.dtype)
