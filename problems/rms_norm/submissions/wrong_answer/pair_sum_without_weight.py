import torch


def rms_norm(x, weight, eps=1e-6):
    y, w = x.float(), weight.float()
    return (y * torch.rsqrt(y.square().sum(-1, keepdim=True) + eps)).to(x.dtype)
