import torch


def rms_norm(x, weight, eps=1e-6):
    y, w = x.float(), torch.where(weight == 0, 1.0, weight.float())
    return (y * torch.rsqrt(y.square().mean(-1, keepdim=True) + eps) * w).to(x.dtype)
