import torch


def rms_norm(x, weight, eps=1e-6):
    y, w = x.float(), weight.float()
    return (y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-6) * w).to(x.dtype)
