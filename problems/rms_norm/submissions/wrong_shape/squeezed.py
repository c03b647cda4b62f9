import torch


def rms_norm(x, weight, eps=1e-6):
    y, w = x.float(), weight.float()
    return (y * torch.rsqrt(y.square().mean(-1, keepdim=True) + eps) * w).to(x.dtype).squeeze(0)
