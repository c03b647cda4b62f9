import torch


def rms_norm(x, weight, eps=1e-6):
    return x * torch.rsqrt(x.square().mean(-1) + eps) * weight
