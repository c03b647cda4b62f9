"""Makes cases: draws the inputs, computes what must come back and how exact it must be, and refuses what can't tell.

A case in which zeros, one constant for several elements, one of the inputs or the untouched starter lies within the
allowance tells nothing. It is drawn anew, from the next stream of its own; a recipe that keeps making such cases is an
error of the package.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import torch

from grader.cases.case import DEVICE, HIDDEN, PUBLIC, VALUES, Case
from grader.cases.code import FACTOR, Code, blamed_on
from grader.cases.counterexamples import kept_recipes
from grader.cases.draw import Draw, Recipe, in_double, tensor_value, to_double, to_value
from grader.errors import ProblemError
from grader.judging.gradients import expected_gradients
from grader.problem.arguments import Arguments
from grader.records import Call, Mode, TensorValue
from grader.sandbox.guest.wire import ARENA_BYTES
from grader.sandbox.host.memory import ALIGNMENT

if TYPE_CHECKING:
    from grader.problem.schema import Problem

WIDEST_BYTES = 8
"""Of an element, in float64: a result of a wider dtype than asked for still comes back, and can be diagnosed."""

TRIES = 8
LEADING = ("B", "T")
Tensors = Mapping[str, torch.Tensor]


def make_cases(problem: Problem, code: Code, seed: bytes) -> tuple[Case, ...]:
    """All cases: public ones from the package's own seed, hidden ones from the secret one. Raises ProblemError."""
    cases = draw_cases(problem, code, seed)
    check_set(problem, code, cases)
    return cases


def draw_cases(problem: Problem, code: Code, seed: bytes, without: str = "") -> tuple[Case, ...]:
    """The same without a look at all of them together; those that carry the tag `without` are left out."""
    starter = load_starter(problem)
    with blamed_on(problem.root / "cases.py", "`recipes()` fails"):
        recipes = [(recipe, seed) for recipe in code.recipes()]
    last = next((place for place, (recipe, _) in enumerate(recipes) if recipe.kind == DEVICE), len(recipes))
    recipes[last:last] = kept_recipes(problem, code)
    return tuple(
        make_one(problem, code, recipe, (own, starter)) for recipe, own in recipes if without not in recipe.tags
    )


def make_one(problem: Problem, code: Code, recipe: Recipe, given: tuple[bytes, Starter]) -> Case:
    """The case of one recipe, drawn from the seed (a public one from the package's own)."""
    seed, starter = given
    own = b"public %d" % problem.public_seed if recipe.visibility == PUBLIC else seed
    fault = ""
    for attempt in range(TRIES):
        draw = Draw(own, problem.slug.encode(), (recipe.stream or recipe.name).encode(), b"%d" % attempt)
        with blamed_on(problem.root / "cases.py", f"case {recipe.name!r} can't be made"):
            case = build_case(problem, code, recipe, recipe.arguments(draw))
        fault = why_not(case, starter)
        if not fault:
            return case
    raise ProblemError(f"{problem.root / 'cases.py'}: case {recipe.name!r} can't tell, {fault}: choose other inputs")


def build_case(problem: Problem, code: Code, recipe: Recipe, arguments: Arguments) -> Case:
    """One case with its expected answer and allowance."""
    call = make_call(problem, recipe, arguments)
    args, kwargs = in_double(call)
    expected = code.reference(*args, **kwargs)
    shape, compared = tuple(expected.shape), recipe.kind == VALUES
    told = code.quantities is not None and recipe.visibility == PUBLIC and compared
    return Case(
        name=recipe.name,
        visibility=recipe.visibility,
        kind=recipe.kind,
        dtype=recipe.dtype,
        tags=recipe.tags,
        call=replace(call, result_bytes=max(call.result_bytes, WIDEST_BYTES * expected.numel())),
        shape=shape,
        dims=name_dimensions(problem.entry.result, len(shape)),
        result_dtype=recipe.dtype,
        expected=expected.contiguous() if compared else None,
        allowance=FACTOR * code.rounding(*args, dtype=recipe.dtype, **kwargs).contiguous() if compared else None,
        gradients=expected_gradients(code.reference, call, recipe.dtype) if call.want_gradients else {},
        quantities=quantities_of(code, args, kwargs, expected) if told else {},
        regions=regions_of(code, args, kwargs, expected) if told else {},
    )


def quantities_of(code: Code, args: tuple[Any, ...], kwargs: dict[str, Any], like: torch.Tensor) -> Tensors:
    """What the package measures at each element of the result, by name."""
    found = code.quantities(*args, **kwargs) if code.quantities else {}
    return {name: values.double().expand_as(like).contiguous() for name, values in found.items()}


def regions_of(code: Code, args: tuple[Any, ...], kwargs: dict[str, Any], like: torch.Tensor) -> Tensors:
    """Where each of the package's regions is, by its words."""
    found = code.regions(*args, **kwargs) if code.regions else {}
    return {words: mask.expand_as(like).contiguous() for words, mask in found.items()}


def make_call(problem: Problem, recipe: Recipe, arguments: Arguments) -> Call:
    """The call as it travels."""
    return Call(
        args=tuple(to_value(argument) for argument in arguments.args),
        kwargs={name: to_value(argument) for name, argument in arguments.kwargs.items()},
        init=dict(arguments.init),
        state={name: tensor_value(array) for name, array in arguments.state.items()},
        mode=recipe.mode,
        same_memory=recipe.same_memory,
        backward=recipe.backward,
        want_gradients=recipe.backward and "gradient" in problem.checks,
    )


def name_dimensions(result: Sequence[str], count: int) -> tuple[str, ...]:
    """("...", "d_ff") with names for the leading dimensions: ("T", "d_ff"), ("B", "T", "d_ff"), and "D1" before."""
    if "..." not in result:
        return tuple(result)
    leading = count - len(result) + 1
    further = tuple(f"D{i}" for i in range(1, leading - len(LEADING) + 1))
    return (*further, *LEADING[max(0, len(LEADING) - leading) :], *result[1:])


Starter = Callable[[Case], torch.Tensor | None]


def load_starter(problem: Problem) -> Starter:
    """What the untouched starter returns in a case; None where it raises or returns no tensor."""
    names: dict[str, Any] = {"__name__": "starter"}
    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
        exec(compile(problem.starter, "starter.py", "exec"), names)
    function = names.get(problem.entry.name)

    def run(case: Case) -> torch.Tensor | None:
        args, kwargs = in_double(case.call)
        init, state = kwargs.pop("init", {}), kwargs.pop("state", {})
        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
            called: Any = function
            if problem.entry.kind == "module":
                called = called(**init)
                called.load_state_dict(state)
            result = called(*args, **kwargs)
            return result if isinstance(result, torch.Tensor) else None
        return None

    return run


def why_not(case: Case, starter: Starter) -> str:
    """Why the case can't tell right from wrong; empty if it can. Without elements only shape and dtype are judged."""
    expected, allowance = case.expected, case.allowance
    if expected is None or allowance is None or not expected.numel():
        return ""
    if not bool(expected.isfinite().all() and allowance.isfinite().all()):
        return "the answer or its allowance is not finite"
    if expected.numel() > 1 and float((expected - allowance).max()) <= float((expected + allowance).min()):
        return "one constant is right everywhere"
    for what, junk in _junk(case, starter):
        if junk.shape == expected.shape and bool(((junk.detach().double() - expected).abs() <= allowance).all()):
            return f"{what} lies within the allowance"
    return ""


def _junk(case: Case, starter: Starter) -> Iterator[tuple[str, torch.Tensor]]:
    assert case.expected is not None
    yield "zeros", torch.zeros_like(case.expected)
    for place, value in [*enumerate(case.call.args), *case.call.kwargs.items()]:
        if isinstance(value, TensorValue):
            yield f"argument {place}", to_double(value)
    answer = starter(case)
    if answer is not None:
        yield "what the untouched starter returns", answer


def check_set(problem: Problem, code: Code, cases: Sequence[Case]) -> None:
    """What must hold for all cases together. Raises ProblemError."""
    fault = fault_of_set(cases) or next(missing_ingredients(code, cases), "")
    if fault:
        raise ProblemError(f"{problem.root / 'cases.py'}: {fault}")


def missing_ingredients(code: Code, cases: Sequence[Case]) -> Iterator[str]:
    """A sentence for each ingredient and dtype that no hidden case carries."""
    carried = {(tag, case.dtype) for case in cases if case.visibility == HIDDEN for tag in case.tags}
    for tag, dtypes in code.ingredients.items():
        for dtype in dtypes:
            if (tag, dtype) not in carried:
                yield f"no hidden {dtype} case carries the ingredient {tag!r}: add one"


def fault_of_set(cases: Sequence[Case]) -> str:
    """What is wrong with these cases as a set; "" if nothing."""
    names = [case.name for case in cases]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        return f"two cases are named {min(twice)!r}"
    if [_rank(case) for case in cases] != sorted(_rank(case) for case in cases):
        return "public cases come first, device cases last"
    first = cases[0] if cases else None
    if first is None or first.visibility != PUBLIC or first.expected is None or not bool((first.expected != 0).all()):
        return "the first case must be public, and its answer without zeros"
    total = sum(input_bytes(case) for case in cases if case.call.mode is Mode.REAL)
    if total > ARENA_BYTES:
        return (
            f"the inputs of all cases have {total >> 20} MiB, a run has room for {ARENA_BYTES >> 20}: make some smaller"
        )
    return next(filter(None, (fault_of_repeat(*pair) for pair in pairwise(cases))), "")


def input_bytes(case: Case) -> int:
    """What the inputs of a case take in the memory that a run shares with its child."""
    values = (*case.call.args, *case.call.kwargs.values(), *case.call.state.values())
    return sum(len(value.data) + ALIGNMENT for value in values if isinstance(value, TensorValue))


def _rank(case: Case) -> int:
    return 2 if case.kind == DEVICE else int(case.visibility != PUBLIC)


def fault_of_repeat(before: Case, case: Case) -> str:
    """Why a case can't use the memory of the one before it; "" if it can, or does not want to."""
    if case.call.same_memory and (_layout(before.call) != _layout(case.call) or _rank(before) != _rank(case)):
        return f"{case.name!r} is to use the memory of {before.name!r}: both need the same dtypes, shapes and layouts"
    return ""


def _layout(call: Call) -> list[object]:
    values = [*enumerate(call.args), *call.kwargs.items()]
    return [(k, v.dtype, v.shape, v.strides, v.requires_grad) for k, v in values if isinstance(v, TensorValue)]
