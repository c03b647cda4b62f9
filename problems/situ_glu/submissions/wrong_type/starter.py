import torch

def situ_glu(input_tensor: torch.Tensor, gate_projection: torch.Tensor, up_projection: torch.Tensor, gate_cap: float = 4.0, up_cap: float = 25.0) -> torch.Tensor:
    """
    Returns the bounded element-wise gated activation tensor.

    input_tensor:    [..., d_in]
    gate_projection: [d_ff, d_in], as torch.nn.Linear stores its weight
    up_projection:   [d_ff, d_in], as torch.nn.Linear stores its weight
    returns:         [..., d_ff], in the input's dtype and on its device
    """
    pass
