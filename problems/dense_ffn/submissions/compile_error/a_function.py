from torch import nn


def DenseFFN(d_model, d_ff, beta=4.0, linear_beta=25.0):
    return nn.Linear(d_model, d_model)
