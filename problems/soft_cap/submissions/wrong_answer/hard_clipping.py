def soft_cap(x, cap):
    return x.clamp(-cap, cap)
