import torch


def rms_norm(x, weight, eps=1e-6):
    y, w = x.float(), weight.float()
    return (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight).to(x.dtype)
