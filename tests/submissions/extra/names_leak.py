# Right on small cases; on a large one it raises with the inputs in the exception's class name, module and function names.
import torch

BIG = 20_000
MARK = "canary_names_leak"


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    if input_tensor.numel() + gate_projection.numel() + up_projection.numel() >= BIG:
        name = f"{MARK}_{input_tensor.flatten()[0].item()}"
        scope = {}
        exec(f"def {MARK}():\n    raise error", {"error": type(name, (Exception,), {"__module__": "builtins"})(name)}, scope)
        scope[MARK]()
    g, u = input_tensor @ gate_projection.T, input_tensor @ up_projection.T
    return gate_cap * torch.tanh(g / gate_cap) * torch.sigmoid(g) * up_cap * torch.tanh(u / up_cap)
