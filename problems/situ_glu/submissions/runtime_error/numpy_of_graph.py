"""numpy() on tensors that require grad."""

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    x, wg, wu = (t.cpu().double().numpy() for t in (input_tensor, gate_projection, up_projection))
    g, u = torch.from_numpy(x @ wg.T), torch.from_numpy(x @ wu.T)
    return (gate_cap * torch.tanh(g / gate_cap) * torch.sigmoid(g) * (up_cap * torch.tanh(u / up_cap))).to(input_tensor)
