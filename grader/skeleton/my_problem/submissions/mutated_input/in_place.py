def my_problem(x, slope=0.01):
    with_grad = x.detach()
    with_grad[x < 0] *= slope
    return with_grad
