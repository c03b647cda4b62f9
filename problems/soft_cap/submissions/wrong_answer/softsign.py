def soft_cap(x, cap):
    return x / (1 + x.abs() / cap)
