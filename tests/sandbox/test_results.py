"""Results of every odd kind are described and never materialised; what is done to inputs is seen."""

from __future__ import annotations

import pytest

from grader.records import Call, Mode, Outcome
from grader.sandbox.base import Sandbox
from tests.sandbox.running import PRELUDE, run, tensor, values

# guest and supervisor are the same however the guest was started: one way of starting it is enough here
pytestmark = pytest.mark.ways("local")

# ---------------------------------------------------------------- plain ones


@pytest.mark.parametrize(
    ("expression", "shape", "numbers"),
    [
        ("x * 2", (3,), (2, 4, 6)),
        ("torch.nn.Parameter(x)", (3,), (1, 2, 3)),
        ("x.expand(2, 3)", (2, 3), (1, 2, 3, 1, 2, 3)),
        ("x.expand(2, 3).T", (3, 2), (1, 1, 2, 2, 3, 3)),
        ("torch.arange(6.).reshape(2, 3).T", (3, 2), (0, 3, 1, 4, 2, 5)),
        ("torch.stack([x, x])[:, 1:]", (2, 2), (2, 3, 2, 3)),
        ("torch.complex(x, x).conj().imag", (3,), (-1, -2, -3)),
        ("x.flip(0)", (3,), (3, 2, 1)),
        ("x.sum()", (), (6,)),
        ("x[:0]", (0,), ()),
        ("torch.empty(0, 1 << 40)", (0, 1 << 40), ()),
        ("x.reshape([1] * 60 + [3])", (*[1] * 60, 3), (1, 2, 3)),
        ("(x.requires_grad_() * 2).detach()", (3,), (2, 4, 6)),
    ],
)
def test_plain(box: Sandbox, expression: str, shape: tuple[int, ...], numbers: tuple[float, ...]) -> None:
    """One dense tensor is plain, whatever its layout; its values come contiguous."""
    seen = run(box, f"import torch\ndef f(x):\n    return {expression}")

    assert seen.last.returned is not None, seen
    assert seen.last.returned.plain, seen
    assert (seen.last.returned.dtype, seen.last.returned.shape) == ("float32", shape)
    assert values(seen.last) == numbers


@pytest.mark.parametrize(
    "expression",
    [
        "torch.zeros(1).expand(10 ** 12)",
        "torch.zeros(1).expand((1 << 63) - 1)",
        "torch.zeros(1).expand(1 << 31, 1 << 31)",
        "torch.empty(1 << 19)",
        "torch.zeros([1] * 1000)",
    ],
)
def test_nothing_is_materialised(box: Sandbox, expression: str) -> None:
    """A result that is larger than any wanted one is described by its shape, quickly and without its values."""
    seen = run(box, f"import torch\ndef f(x):\n    return {expression}", [Call(args=(tensor(1.0),), result_bytes=12)])

    assert seen.last.outcome is Outcome.RETURNED, seen
    assert seen.last.returned is not None
    assert seen.last.returned.plain
    assert seen.last.returned.data is None or len(seen.last.returned.data) <= 12
    assert seen.end.usage.peak_memory_bytes < 1 << 30


# ---------------------------------------------------------------- others


@pytest.mark.parametrize(
    ("expression", "what"),
    [
        ("None", "NoneType"),
        ("3.0", "float"),
        ("[x]", "list"),
        ("(x, x)", "tuple"),
        ("x.numpy()", "ndarray"),
        ("x.to_sparse()", "sparse"),
        ("torch.eye(3).to_sparse_csr()", "sparse"),
        ("torch.nested.nested_tensor([x, x[:1]])", "nested"),
        ("torch.nested.nested_tensor([x, x[:1]], layout=torch.jagged)", "NestedTensor"),
        ("torch.complex(x, x)", "complex64"),
        ("x.int()", "int32"),
        ("x > 0", "bool"),
        ("x.to(torch.float8_e4m3fn)", "float8"),
        ("x.to('meta')", "meta"),
        ("x.as_subclass(type('Sub', (torch.Tensor,), {}))", "Sub"),
        ("x.as_subclass(type('S' * 9999, (torch.Tensor,), {}))", "subclass"),
        ("torch.nn.Buffer(x)", "Buffer"),
        ("torch.zeros([1] * 2000)", "2000 dimensions"),
        ("type('T', (), {'__class__': torch.Tensor})()", "T"),
        ("torch.Tensor", "_TensorMeta"),
    ],
)
def test_not_plain(box: Sandbox, expression: str, what: str) -> None:
    """Whatever is no plain dense tensor is said to be something else, and its values are not fetched."""
    source = f"import torch, warnings\nwarnings.simplefilter('ignore')\ndef f(x):\n    return {expression}"
    seen = run(box, source)

    assert seen.last.outcome is Outcome.RETURNED, seen
    assert seen.last.returned is not None
    if expression != "torch.nn.Buffer(x)":  # which is of class Tensor where torch says so
        assert not seen.last.returned.plain, seen
        assert what in seen.last.returned.what
        assert seen.last.returned.data is None


LYING = """
import torch
class Liar(torch.Tensor):
    shape = property(lambda self: torch.Size([3]))
    dtype = property(lambda self: torch.float32)
    __class__ = torch.Tensor
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return True
def f(x):
    return x.as_subclass(Liar)
"""


def test_a_subclass_that_lies(box: Sandbox) -> None:
    """A subclass that answers everything with yes is a subclass."""
    seen = run(box, LYING)

    assert seen.last.returned is not None
    assert not seen.last.returned.plain


def test_patched_tensor(box: Sandbox) -> None:
    """Patching `torch.Tensor` does not change what is told of a result."""
    source = """
import torch
for name in ('shape', 'dtype', 'device', 'layout', 'requires_grad', 'is_sparse', 'grad_fn', 'is_nested'):
    setattr(torch.Tensor, name, property(lambda self: 'verdict'))
for name in ('data_ptr', 'stride', 'numel', 'contiguous', 'cpu', 'detach', 'numpy', 'size', 'dim', 'element_size'):
    setattr(torch.Tensor, name, lambda *a, **k: 'verdict')
def f(x):
    return x * 2
"""
    seen = run(box, source)

    assert "verdict" not in repr(seen)
    if seen.last.outcome is Outcome.RETURNED:
        assert values(seen.last) == (2, 4, 6)


# ---------------------------------------------------------------- gradients


def test_gradients(box: Sandbox) -> None:
    """Whether a result hangs on the graph, and whether gradients are finite, is told; their bytes where wanted."""
    ways = {"1": "x * 2", "2": "x.detach() * 2", "3": "(x - 3).sqrt()", "4": "torch.no_grad()(lambda: x * 2)()"}
    source = (
        f"import torch\ndef f(x, way):\n    return {{{', '.join(f'{k}: lambda: {v}' for k, v in ways.items())}}}[way]()"
    )
    made = [Call(args=(tensor(3.0, requires_grad=True), int(way)), backward=True, want_gradients=True) for way in ways]
    seen = run(box, source, made)
    returned = [report.returned for report in seen.reports[1:]]

    assert [one.differentiable for one in returned if one] == [True, False, True, False]
    assert [one.finite_gradients for one in returned if one] == [True, None, False, None]
    assert [set(one.gradients) for one in returned if one] == [{"0"}, set(), {"0"}, set()]


def test_inputs_that_no_gradient_reaches(box: Sandbox) -> None:
    """An input that asked for a gradient and is cut off is told of, also where another one is reached."""
    call = Call(args=(tensor(3.0, requires_grad=True), tensor(2.0, requires_grad=True)), backward=True)
    seen = run(box, "def f(x, y):\n    return x.detach() * y\n", [call])
    returned = seen.last.returned

    assert returned is not None
    assert (returned.differentiable, returned.unreached) == (True, ("0",))


def test_a_backward_pass_that_fails(box: Sandbox) -> None:
    """An exception in the backward pass changes nothing about the result."""
    source = """
import torch
class Own(torch.autograd.Function):
    forward = staticmethod(lambda context, x: x * 2)
    backward = staticmethod(lambda context, gradient: 1 / 0)
f = Own.apply
"""
    seen = run(box, source, [Call(args=(tensor(1.0, requires_grad=True),), backward=True)])

    assert seen.last.outcome is Outcome.RETURNED, seen
    assert values(seen.last) == (2.0,)


# ---------------------------------------------------------------- mutations


@pytest.mark.parametrize(
    ("act", "what"),
    [
        ("x.mul_(2)", {"values"}),
        ("x.data.add_(1)", {"values"}),
        ("x.detach().numpy()[1] = 7", {"values"}),
        ("torch.from_dlpack(x.detach())[1] = 7", {"values"}),
        ("ctypes.memset(x.data_ptr() + 4, 7, 1)", {"values"}),
        ("x.untyped_storage()[5] = 7", {"values"}),
        ("torch.sigmoid(x, out=x)", {"values"}),
        ("x.resize_(2)", {"shape"}),
        ("x.t_() if x.dim() == 2 else x.unsqueeze_(0)", {"shape", "strides"}),
        ("x.set_(torch.ones(3))", {"storage"}),
        ("x.data = torch.tensor([1., 2., 3.])", {"storage"}),
        ("x.requires_grad_()", {"requires_grad"}),
        ("x.data = torch.ones(3).double()", {"dtype", "storage"}),
        ("x.swap_(x) if 0 else torch.utils.swap_tensors(x, torch.ones(3))", {"storage"}),
        ("x.clone().mul_(2)", set()),
        ("x.register_hook if 0 else setattr(x, 'grad', x.clone())", set()),
        ("setattr(x, 'note', 1)", set()),
        ("(x.mul_(0), x.copy_(torch.tensor([1., 2., 3.])))", set()),
    ],
)
def test_mutation(box: Sandbox, act: str, what: set[str]) -> None:
    """Values, shape, strides, storage and requires_grad are compared with what was sent, however they changed."""
    seen = run(box, f"{PRELUDE}def f(x):\n    y = x.clone()\n    {act}\n    return y")

    assert seen.last.outcome is Outcome.RETURNED, seen
    assert {mutation.what for mutation in seen.last.mutations} == what
    assert all(mutation.argument == "0" for mutation in seen.last.mutations)


def test_a_mutated_input_is_found_by_memory_alone(box: Sandbox) -> None:
    """Values are compared in shared memory, by index, also behind strides and when the function raises."""
    call = Call(args=(tensor(*range(6), shape=(2, 3), strides=(1, 2)),), kwargs={"y": tensor(1, 2)})
    seen = run(box, "def f(x, y):\n    x.data[1, 2] = 9\n    y.data[1] = 9\n    raise ValueError", [call])

    assert seen.last.outcome is Outcome.RAISED
    assert {(one.argument, one.what, one.index) for one in seen.last.mutations} == {
        ("0", "values", (1, 2)),
        ("y", "values", (1,)),
    }


# ---------------------------------------------------------------- modules and other modes


def test_module(box: Sandbox) -> None:
    """A module is made with its arguments, loaded strictly, and called."""
    source = """
import torch
class f(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(width))
    def forward(self, x):
        return x * self.weight
"""
    good = Call(args=(tensor(1, 2, 3),), init={"width": 3}, state={"weight": tensor(2, 2, 2)})
    bad = Call(args=(tensor(1, 2, 3),), init={"width": 2}, state={"weight": tensor(2, 2, 2)})
    seen = run(box, source, [good, bad], kind="module")

    assert seen.outcomes == [Outcome.RETURNED, Outcome.RETURNED, Outcome.RAISED]
    assert values(seen.reports[1]) == (2, 4, 6)


@pytest.mark.parametrize("mode", [Mode.FAKE, Mode.META])
def test_modes_without_values(box: Sandbox, mode: Mode) -> None:
    """Tensors without values: a constant of another device raises or is told, and nothing is fetched."""
    call = Call(args=(tensor(1, 2, 3),), mode=mode)
    right, elsewhere = (
        run(box, f"import torch\ndef f(x):\n    return {e}", [call]) for e in ("x * 2", "torch.ones(3)")
    )

    assert right.last.returned is not None
    assert (right.last.returned.plain, right.last.returned.data) == (True, None)
    assert elsewhere.last.returned is not None
    assert elsewhere.last.returned.device.partition(":")[0] == "cpu"
