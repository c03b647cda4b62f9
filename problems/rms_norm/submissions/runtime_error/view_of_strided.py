import torch


def rms_norm(x, weight, eps=1e-6):
    rows = x.view(-1, x.shape[-1])
    wide = rows.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps) * weight).to(x.dtype).view(x.shape)
