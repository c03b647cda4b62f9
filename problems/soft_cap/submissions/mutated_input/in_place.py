import torch


def soft_cap(x, cap):
    with torch.no_grad():
        if x.is_contiguous():
            x.div_(cap)
            return cap * torch.tanh(x)
        return cap * torch.tanh(x / cap)
