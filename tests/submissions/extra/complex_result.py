import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    return torch.complex((input_tensor @ gate_projection.T).double(), (input_tensor @ up_projection.T).double())
