"""In-place steps on tensors of its own, without a graph; the inputs stay as they were."""

import torch


@torch.no_grad()
def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    g = input_tensor @ gate_projection.T
    u = input_tensor @ up_projection.T
    result = torch.sigmoid(g)
    result.mul_(g.div_(gate_cap).tanh_().mul_(gate_cap))
    return result.mul_(u.div_(up_cap).tanh_().mul_(up_cap))
