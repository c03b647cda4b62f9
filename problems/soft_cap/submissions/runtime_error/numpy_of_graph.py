import numpy as np
import torch


def soft_cap(x, cap):
    if x.dtype == torch.bfloat16:
        x = x.float()
        return torch.from_numpy(np.asarray(cap * np.tanh(x.numpy() / cap))).bfloat16()
    return torch.from_numpy(np.asarray(cap * np.tanh(x.numpy() / cap))).to(x.dtype)
