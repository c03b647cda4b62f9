def rms_norm(x, weight, eps=1e-6):
    y = x.double()
    norm = y.norm(dim=-1, keepdim=True)
    return (y * weight.double() / (norm**2 / x.shape[-1] + eps) ** 0.5).to(x.dtype)
