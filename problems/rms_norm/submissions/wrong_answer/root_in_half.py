import torch


def rms_norm(x, weight, eps=1e-6):
    scale = torch.rsqrt(x.float().square().mean(-1, keepdim=True) + eps).to(x.dtype)
    return x * scale * weight
