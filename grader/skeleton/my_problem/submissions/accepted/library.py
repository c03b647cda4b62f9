from torch.nn.functional import leaky_relu


def my_problem(x, slope=0.01):
    return leaky_relu(x, slope)
