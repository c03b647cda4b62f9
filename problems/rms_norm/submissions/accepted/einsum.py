import torch


def rms_norm(x, weight, eps=1e-6):
    y = x.float()
    mean_square = torch.einsum("...d,...d->...", y, y) / y.size(-1)
    scale = (mean_square + eps).rsqrt()
    return torch.einsum("...d,...,d->...d", y, scale, weight.float()).type_as(x)
