import torch


def rms_norm(x, weight, eps=1e-6):
    y, w = x.float(), weight.float()
    return (y / torch.sqrt(y.square().sum(-1, keepdim=True) / (y.shape[-1] - 1) + eps) * w).to(x.dtype)
