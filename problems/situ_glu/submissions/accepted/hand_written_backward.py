"""The gate branch as an autograd.Function with its own backward."""

import torch


class CappedGate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, g, cap):
        t, s = torch.tanh(g / cap), torch.sigmoid(g)
        ctx.save_for_backward(t, s)
        ctx.cap = cap
        return cap * t * s

    @staticmethod
    def backward(ctx, grad):
        t, s = ctx.saved_tensors
        return grad * s * (1 - t * t + ctx.cap * t * (1 - s)), None


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    g = input_tensor @ gate_projection.T
    u = input_tensor @ up_projection.T
    return CappedGate.apply(g, gate_cap) * (up_cap * torch.tanh(u / up_cap))
