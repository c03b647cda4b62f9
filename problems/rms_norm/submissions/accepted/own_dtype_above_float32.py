import torch


def rms_norm(x, weight, eps=1e-6):
    wide = torch.promote_types(x.dtype, torch.float32)
    y = x.to(wide)
    return (y / torch.sqrt(y.pow(2).mean(dim=-1, keepdim=True) + eps) * weight.to(wide)).to(x.dtype)
