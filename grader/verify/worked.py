"""Checks the worked examples of problem.toml: the reference, called as they say, gives what they print."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from grader.cases.code import Code
from grader.problem.schema import Problem
from grader.verify.finding import Finding


def check_examples(problem: Problem, code: Code) -> Iterator[Finding]:
    """Every example's call gives its result, printed in the dtype of its first tensor."""
    for example in problem.examples:
        try:
            printed = str(run(problem, code, example.call))
        except Exception as error:
            printed = f"{type(error).__name__}: {error}"
        if _plain(printed) != _plain(example.result):
            yield Finding(
                check="examples", file="problem.toml",
                what=f"the example {example.title!r} gives {' '.join(printed.split())[:120]}",
                mend="mend its `call` or its `result`",
            )  # fmt: skip


def _plain(text: str) -> str:
    """Without line breaks and the sign of zeros, which rounding may turn."""
    squeezed = "".join(text.split())
    for zero in ("0.0000", "0.", "0"):
        for end in (",", "]", ")"):
            squeezed = squeezed.replace(f"-{zero}{end}", f"{zero}{end}")
    return squeezed


def run(problem: Problem, code: Code, call: str) -> Any:
    """The value of the last expression of an example, with the reference in the entry's place."""
    names: dict[str, Any] = {"tensor": torch.tensor, "torch": torch, problem.entry.name: stand_in(problem, code)}
    tree = ast.parse(call)
    *before, last = tree.body
    if not isinstance(last, ast.Expr):
        raise ValueError("the last line of `call` must be an expression")
    exec(compile(ast.Module(body=before, type_ignores=[]), "example", "exec"), names)
    return eval(compile(ast.Expression(body=last.value), "example", "eval"), names)


def stand_in(problem: Problem, code: Code) -> Any:
    """Something that is called as the entry is, and answers with the reference."""
    if problem.entry.kind == "function":
        return lambda *args, **kwargs: _answer(code, args, kwargs)
    parameters = [parameter.name for parameter in problem.entry.init]
    defaults = {parameter.name: parameter.default for parameter in problem.entry.init}

    class Module:
        """Holds the constructor's arguments and the state until it is called."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.init = {**defaults, **dict(zip(parameters, args, strict=False)), **kwargs}
            self.state: Mapping[str, torch.Tensor] = {}

        def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
            """Keeps the tensors."""
            self.state = state

        def __call__(self, *args: Any, **kwargs: Any) -> torch.Tensor:
            state = {name: value.double() for name, value in self.state.items()}
            return _answer(code, args, kwargs, init=self.init, state=state)

    return Module


def _answer(code: Code, args: tuple[Any, ...], kwargs: dict[str, Any], **module: Any) -> torch.Tensor:
    dtype = next(value.dtype for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor))
    doubled = [value.double() if isinstance(value, torch.Tensor) else value for value in args]
    named = {key: value.double() if isinstance(value, torch.Tensor) else value for key, value in kwargs.items()}
    return code.reference(*doubled, **named, **module).to(dtype)
