import torch


def rms_norm(x, weight, eps=1e-6):
    y, w = x.float(), weight.float()
    return ((y - y.mean(-1, keepdim=True)) / torch.sqrt(y.var(-1, keepdim=True, correction=0) + eps) * w).to(x.dtype)
