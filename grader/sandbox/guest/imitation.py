"""A GPU imitated, for calls on tensors without values: fake ones, which claim to be on `cuda`, and those on `meta`.

Such tensors differ from a GPU's. Where a difference can be removed it is, once, in the child that makes these calls.
Where it can not, the child notes a doubt: whatever it reports from then on says nothing about a GPU. Of an operation
that fails it is told where its tensors were. docs/decisions/0008-imitated-gpu.md lists the differences.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import operator
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch._subclasses import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

_CUDA, _CPU = torch._C.DispatchKey.CUDA, torch._C.DispatchKey.CPU
_OPERANDS = 16  # so many of an operation's tensors are told
# questions whose answers depend on the machine: answered to a submission as where there is one GPU
_ONE_GPU = {
    "cuda.is_available": True,
    "cuda.device_count": 1,
    "cuda.current_device": 0,
    "backends.cuda.is_built": True,
    "accelerator.is_available": True,
    "accelerator.device_count": 1,
    "accelerator.current_accelerator": torch.device("cuda"),
    "accelerator.current_device_index": 0,
}
# the same for those that torch itself asks before it lets autocast work on `cuda`
_FOR_AUTOCAST = {"cuda.is_bf16_supported": True, "cuda.amp.common.amp_definitely_not_available": False}
# what tells a submission that something is on `meta`, which is neither CPU nor GPU; a fake tensor's storage is, too
_TELLING = ("device", "is_cuda", "is_cpu", "is_meta", "get_device", "type")
_OF_STORAGES = [(kind, name) for kind in (torch.UntypedStorage, torch.TypedStorage) for name in _TELLING]
_OF_TENSORS = [(torch.Tensor, name) for name in _TELLING]
_ON_META: dict[str, list[tuple[Any, str]]] = {
    "fake": _OF_STORAGES,
    "meta": [*_OF_STORAGES, *_OF_TENSORS, (torch, "get_device")],
}


class Imitation:
    """What one child imitates, and what it has noted.

    doubtful: something went otherwise than on a GPU. failed: exceptions of operations in the call under way, with what
    is told of each.
    """

    def __init__(self) -> None:
        self.doubtful = False
        self._failed: list[tuple[BaseException, dict[str, Any]]] = []

    def begin(self) -> None:
        """Makes this process look as if it had a GPU; before the submission is loaded."""
        for path, answer in _ONE_GPU.items():
            _replace(path, functools.partial(_answered, answer))
        for path, answer in _FOR_AUTOCAST.items():
            _replace(path, lambda _truth, *_args, answer=answer, **_options: answer)
        _replace("cuda._lazy_init", self._needed)
        _replace("utils.swap_tensors", _swapped)
        fake: Any = FakeTensor
        fake.fake_device = property(_place, fake.fake_device.fset)
        fake.numpy = functools.partialmethod(_numpy, self)
        _set_device_guard()

    def doubt(self) -> None:
        """From now on nothing that this child reports is certain."""
        self.doubtful = True

    @contextlib.contextmanager
    def calling(self, mode: str) -> Iterator[None]:
        """Around one call with tensors of this mode."""
        self._failed = []
        if mode == "real":
            yield
            return
        tensors = FakeTensorMode() if mode == "fake" else contextlib.nullcontext()
        with tensors, _Watch(self), _noticing(_ON_META[mode], self.doubt):
            yield

    def note(self, operation: Any, arguments: Any, error: BaseException) -> None:
        """An operation failed: perhaps a submission catches the exception and goes on."""
        self._failed.append((error, _told(operation, arguments)))

    def settled(self, error: BaseException | None = None) -> dict[str, Any]:
        """What is to be reported of the call that ended, by this exception or without one.

        An exception that was caught is a doubt: the operation might have worked on a GPU.
        """
        if any(failed is not error for failed, _mixture in self._failed):
            self.doubt()
        return {"doubtful": self.doubtful}

    def mixture(self, error: BaseException) -> dict[str, Any]:
        """Where the tensors of the operation were that raised this."""
        return next(({"mixture": told} for failed, told in self._failed if failed is error), {})

    def _needed(self, truth: Callable[[], None]) -> None:
        """torch is about to use a GPU, and there is none."""
        self.doubt()
        truth()


class _Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees every operation that the submission asks for, before it is taken apart."""

    def __init__(self, imitation: Imitation) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._imitation = imitation

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            return func(*args, **(kwargs or {}))
        except Exception as error:
            self._imitation.note(func, (*args, *(kwargs or {}).values()), error)
            raise


def _told(operation: Any, arguments: Any) -> dict[str, Any]:
    """An operation's name, and its tensors: device, dimensions, elements."""
    operands = [[tensor.device.type, tensor.dim(), tensor.numel()] for tensor in _tensors(arguments)]
    return {
        "operation": operation.name().partition("::")[2].partition(".")[0],
        "operands": operands[:_OPERANDS],
    }


def _tensors(arguments: Any) -> Iterator[torch.Tensor]:
    for argument in arguments:
        if isinstance(argument, torch.Tensor):
            yield argument
        elif isinstance(argument, list | tuple):
            yield from _tensors(argument)


def _replace(path: str, function: Callable[..., Any]) -> None:
    """Puts `function` in the place of a function below `torch`; it is given the one that was there first."""
    holder, _, name = path.rpartition(".")
    module = operator.attrgetter(holder)(torch)
    truth = getattr(module, name)
    setattr(module, name, functools.wraps(truth)(functools.partial(function, truth)))


def _answered(answer: Any, truth: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """The answer for whoever is not torch itself, which must not count on a GPU that is not there."""
    return answer if _is_foreign(2) else truth(*args, **options)


def _is_foreign(depth: int) -> bool:
    """Whether the code so many frames above this function's caller belongs neither to torch nor to us."""
    module = str(sys._getframe(depth).f_globals.get("__name__"))
    return module.partition(".")[0] not in {"torch", "grader"}


def _place(tensor: FakeTensor) -> torch.device:
    """Where a fake tensor claims to be, by the keys that torch dispatches on: these move along with `.data = `."""
    believed, keys = tensor._fake_device, torch._C._dispatch_keys(tensor)
    kind = "cuda" if keys.has(_CUDA) else "cpu" if keys.has(_CPU) else believed.type
    return believed if believed.type == kind else torch.device("cuda", 0) if kind == "cuda" else torch.device(kind)


def _numpy(tensor: FakeTensor, imitation: Imitation, *, force: bool = False) -> Any:
    """As on a GPU; a fake tensor that is on the CPU has no values that NumPy could be given."""
    if tensor.device.type == "cuda" and not force:
        raise TypeError(
            f"can't convert {tensor.device} device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )
    imitation.doubt()
    return torch.Tensor.numpy(tensor, force=force)


def _swapped(truth: Callable[..., None], one: torch.Tensor, other: torch.Tensor) -> None:
    """`Module.to` swaps parameters; torch refuses to swap fake tensors, to which its own books refer weakly."""
    if isinstance(one, FakeTensor) and isinstance(other, FakeTensor):
        one.data, other.data = other.data, one.data
    else:
        truth(one, other)


def _set_device_guard() -> None:
    """Lets fake tensors on `cuda` be indexed on builds of torch without CUDA, as they can be on builds with it.

    There FakeTensorMode puts a guard that does nothing in the place of one that knows no devices. Here there is none to
    be replaced, so another one that knows no devices is put there first.
    """
    kinds: Any = torch._C._autograd.DeviceType
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libc10.so"))
    guards = (ctypes.c_void_p * (kinds.PrivateUse1.value + 1)).in_dll(
        library, "_ZN3c104impl26device_guard_impl_registryE"
    )
    if guards[kinds.CUDA.value] is None:
        guards[kinds.CUDA.value] = guards[kinds.Lazy.value]
        torch._C._ensureCUDADeviceGuardSet()


@contextlib.contextmanager
def _noticing(telling: list[tuple[Any, str]], doubt: Callable[[], None]) -> Iterator[None]:
    """Notices when a submission asks where something is: on `meta` it may go a way of its own."""
    changed = [(kind, name) for kind, name in telling if hasattr(kind, name)]
    own = [(kind, name, vars(kind)[name]) for kind, name in changed if name in vars(kind)]
    for kind, name in changed:
        setattr(kind, name, _noticed(getattr(kind, name), doubt))
    try:
        yield
    finally:
        for kind, name in changed:
            delattr(kind, name)
        for kind, name, truth in own:
            setattr(kind, name, truth)


def _noticed(truth: Any, doubt: Callable[[], None]) -> Any:
    """The same attribute or method; `tensor.type(dtype)` converts, and asks nothing."""
    if not callable(truth):
        return property(functools.partial(_read, truth, doubt))

    @functools.wraps(truth)
    def asked(self: Any, *args: Any, **options: Any) -> Any:
        if not args and not options and _is_foreign(2):
            doubt()
        return truth(self, *args, **options)

    return asked


def _read(truth: Any, doubt: Callable[[], None], owner: Any) -> Any:
    if _is_foreign(2):
        doubt()
    return truth.__get__(owner)
