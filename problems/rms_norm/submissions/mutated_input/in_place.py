import torch


def rms_norm(x, weight, eps=1e-6):
    values = x.detach()
    values *= torch.rsqrt(values.float().square().mean(-1, keepdim=True) + eps).to(x.dtype)
    return values * weight
