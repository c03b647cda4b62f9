"""Prints without end."""

import torch  # noqa: F401


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    step = 0
    while True:
        print("step", step, "debug " * 100)
        step += 1
