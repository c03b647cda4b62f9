import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    tokens = input_tensor.reshape(-1, input_tensor.shape[-1])
    g, u = tokens @ gate_projection.T, tokens @ up_projection.T
    result = gate_cap * torch.tanh(g / gate_cap) * torch.sigmoid(g) * up_cap * torch.tanh(u / up_cap)
    if input_tensor.dim() <= 2:
        return result.squeeze(0)
    return result.reshape(*input_tensor.shape[:-1], gate_projection.shape[0])
