def soft_cap(x, cap):
    y = x / cap
    return y.tanh_().mul_(cap)
