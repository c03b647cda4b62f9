import torch


def rms_norm(x, weight, eps=1e-6):
    y, w = x.float(), weight.float()
    return (y / (y.square().mean(-1, keepdim=True).sqrt() + eps) * w).to(x.dtype)
