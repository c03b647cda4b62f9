"""The released model's rule: project in the input's dtype, activate in float32, cast back."""

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    packed = torch.cat([input_tensor @ gate_projection.T, input_tensor @ up_projection.T], dim=-1)
    gate, up = packed.to(torch.float32).chunk(2, dim=-1)
    gate = gate_cap * torch.tanh(gate / gate_cap) * torch.sigmoid(gate)
    up = up_cap * torch.tanh(up / up_cap)
    return (gate * up).to(input_tensor.dtype)
