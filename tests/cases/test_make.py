"""What the cases of a problem are: the same everywhere, each able to tell, and together carrying every ingredient."""

from __future__ import annotations

import hashlib
import math
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from grader.cases.case import DEVICE, HIDDEN, PUBLIC, VALUES, Case, CaseSet
from grader.cases.code import FACTOR, WIDE, Code, load_code, measured_rounding, sources
from grader.cases.draw import Draw, Recipe, tensor_value, to_double, to_tensor
from grader.cases.files import pack, version_of
from grader.cases.make import load_starter, make_cases, missing_ingredients, name_dimensions, why_not
from grader.errors import ProblemError
from grader.judging.compare import compare
from grader.problem.arguments import Array
from grader.problem.schema import Problem
from grader.records import Mode, TensorValue
from tests.support.calling import answer
from tests.support.variants import RIGHT
from tests.support.wrong_variants import WRONG

DIGEST = """
import sys
from grader.problem import folder as problem
from grader.cases.files import pack, version_of
from grader.cases.make import load_starter, make_cases
from grader.cases.code import load_code, sources
package = problem.load("situ_glu")
files = pack("situ_glu", make_cases(package, load_code(package), b"a seed"), sources(package))
print(version_of(files["manifest.json"]))
"""


@pytest.fixture(scope="module")
def code(situ_glu: Problem) -> Code:
    return load_code(situ_glu)


@pytest.fixture(scope="module")
def cases(situ_glu: Problem, code: Code) -> tuple[Case, ...]:
    return make_cases(situ_glu, code, b"a seed")


def values_of(case: Case) -> list[TensorValue]:
    return [value for value in case.call.args if isinstance(value, TensorValue)]


def elements(case: Case) -> int:
    return sum(math.prod(value.shape) for value in values_of(case))


def test_a_seed_gives_the_same_bytes_on_any_instruction_set(situ_glu: Problem, cases: tuple[Case, ...]) -> None:
    """The version, a hash of all inputs, is the same in a process whose torch uses no vector instructions."""
    plain = os.environ | {"ATEN_CPU_CAPABILITY": "default", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", DIGEST], env=plain, capture_output=True, text=True, check=True)
    files = pack("situ_glu", cases, sources(situ_glu))
    assert done.stdout.strip() == version_of(files["manifest.json"])


def test_the_stream_of_numbers_never_changes() -> None:
    """The stream's first bytes are pinned: other bytes would change every stored version."""
    draw = Draw(b"seed", b"name")
    numbers = [draw.uniform((2, 3)), draw.bell((4,), 2.0), draw.spread_signs((5,), 1.0, 2.0)]
    digest = hashlib.sha256(b"".join(array.tobytes() for array in numbers)).hexdigest()
    assert digest[:16] == "8323cde4c0f32aab"


def test_draws_are_dyadic_and_in_range() -> None:
    """Numbers are exact multiples of a power of two, spread as asked, and never zero."""
    numbers = Draw(b"x").uniform((10_000,), -1.0, 1.0, bits=16)
    assert np.array_equal(numbers * 2.0**16, np.round(numbers * 2.0**16))
    assert np.all(np.abs(numbers) < 1) and np.all(numbers != 0) and abs(numbers.mean()) < 0.05
    assert 0.9 < Draw(b"y").bell((10_000,)).std() < 1.1


def test_a_new_case_shifts_no_other(situ_glu: Problem, code: Code, cases: tuple[Case, ...]) -> None:
    """A case's numbers depend on the seed and its name only, not on the recipes before it."""
    recipes = [recipe for recipe in code.recipes() if recipe.name != "saturated-branches-float32"]
    fewer = make_cases(situ_glu, replace(code, recipes=lambda: recipes, ingredients={}), b"a seed")
    assert list(fewer) == [case for case in cases if case.name != "saturated-branches-float32"]


def test_the_secret_seed_moves_hidden_cases_only(situ_glu: Problem, code: Code, cases: tuple[Case, ...]) -> None:
    """With another seed every hidden case that has numbers is another, and every public one the same."""
    others = make_cases(situ_glu, code, b"another seed")
    pairs = [(case, other) for case, other in zip(cases, others, strict=True) if elements(case)]
    assert all(case == other for case, other in pairs if case.visibility == PUBLIC)
    assert all(case != other for case, other in pairs if case.visibility == HIDDEN)


def test_there_are_enough_cases_and_none_too_large(cases: tuple[Case, ...]) -> None:
    """At least 8 public and 32 hidden ones; public ones stay small, one hidden one is of realistic size."""
    public = [case for case in cases if case.visibility == PUBLIC]
    hidden = [case for case in cases if case.visibility == HIDDEN]
    assert len(public) >= 8 and len(hidden) >= 32
    assert max(map(elements, public)) < 10_000
    assert [elements(case) >= 40_000 for case in hidden].count(True) == 1
    assert sum(case.call.same_memory for case in cases) == 2


def test_the_first_case_is_public_and_its_answer_has_no_zeros(cases: tuple[Case, ...]) -> None:
    """What a fresh process meets first is judged and can't be answered with untouched memory."""
    first = cases[0]
    assert first.visibility == PUBLIC and first.kind == VALUES and first.expected is not None
    assert bool((first.expected != 0).all())


def test_every_ingredient_stands_in_every_dtype_in_which_it_can_tell(code: Code, cases: tuple[Case, ...]) -> None:
    """The package's list of ingredients is met, and a case less is noticed by the name of what it carried."""
    assert list(missing_ingredients(code, cases)) == []
    fewer = [case for case in cases if "extreme" not in case.tags]
    assert len(list(missing_ingredients(code, fewer))) >= 4
    assert all("'extreme'" in text or "float16" in text or "float" in text for text in missing_ingredients(code, fewer))


def test_tags_say_what_the_inputs_are(cases: tuple[Case, ...]) -> None:
    """Layouts, zeros, overflow and gradients that a tag promises are there."""
    for case in cases:
        x, gate, up = values_of(case)
        if case.kind == DEVICE:
            continue
        product = to_double(x) @ to_double(gate).T
        assert ("requires_grad" in case.tags) == all(value.requires_grad for value in (x, gate, up))
        assert ("expanded_input" in case.tags) == (x.strides[:1] == (0,) and x.shape[0] > 1)
        assert ("non_square" in case.tags) == (gate.shape[0] != gate.shape[1])
        assert ("exact_zeros" in case.tags) == bool((product == 0).any())
        if "extreme" in case.tags:
            limit = 65504 if case.dtype == "float16" else 1e4
            assert bool((product.abs() > limit).any())
        if "beyond_caps" in case.tags:
            other = to_double(x) @ to_double(up).T
            assert all(bool((sign * product > 4).any() and (sign * other > 25).any()) for sign in (-1, 1))
        if {"strided_input", "transposed_input"} & case.tags:
            assert not to_tensor(x).is_contiguous()


def test_device_cases_have_shapes_of_their_own(cases: tuple[Case, ...]) -> None:
    """Nothing cached from a fake tensor can meet a real one: shapes differ, and device cases come last."""
    fake = [case for case in cases if case.kind == DEVICE]
    real = {value.shape for case in cases if case.kind == VALUES for value in values_of(case)}
    assert {case.call.mode for case in fake} == {Mode.FAKE, Mode.META} and list(cases[-len(fake) :]) == fake
    assert not real & {value.shape for case in fake for value in values_of(case)}
    assert all(case.expected is None and case.allowance is None for case in fake)


def test_junk_fails_every_case_that_has_values(situ_glu: Problem, cases: tuple[Case, ...]) -> None:
    """Zeros, any constant, any input, the starter's answer: none lies within the allowance of any case."""
    starter = load_starter(situ_glu)
    compared = [case for case in cases if case.expected is not None and case.expected.numel()]
    for case in compared:
        assert case.expected is not None and case.allowance is not None
        junk = [torch.zeros(case.shape), torch.full(case.shape, float(case.expected.flatten()[0]))]
        junk += [to_double(v) for v in values_of(case) if v.shape == case.shape]
        assert all(compare(one.double(), case) is not None for one in junk), case.name
        answered = starter(case)
        assert answered is None or answered.shape != case.shape or compare(answered.double(), case), case.name
        assert (case.expected - case.allowance).max() > (case.expected + case.allowance).min(), case.name


def test_a_case_that_zeros_pass_is_refused(situ_glu: Problem, code: Code) -> None:
    """Making a case whose allowance swallows zeros is an error that names the case and says why."""
    wide = replace(code, rounding=lambda *args, **kwargs: torch.full_like(code.reference(*args[:3]), 1e6))
    with pytest.raises(ProblemError, match=r"first-example.*one constant is right"):
        make_cases(situ_glu, wide, b"")


def test_what_the_starter_returns_is_refused(cases: tuple[Case, ...]) -> None:
    """A case that the untouched starter passes can't tell."""
    assert "starter" in why_not(cases[0], lambda case: case.expected)
    assert why_not(cases[0], lambda case: None) == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda recipes: recipes[::-1], "public cases come first"),
        (lambda recipes: [recipes[0], *recipes], "two cases are named"),
        (lambda recipes: recipes[6:], "must be public, and its answer without zeros"),
        (lambda recipes: [recipes[0], replace(recipes[2], same_memory=True)], "same dtypes, shapes and layouts"),
    ],
)
def test_sets_that_make_no_sense_are_refused(situ_glu: Problem, code: Code, change: object, said: str) -> None:
    """Order, names, the first case and repeats in the same memory are checked when cases are made."""
    assert callable(change)
    recipes: list[Recipe] = change(list(code.recipes()))
    with pytest.raises(ProblemError, match=said):
        make_cases(situ_glu, replace(code, recipes=lambda: recipes), b"")


def test_the_order_of_hidden_cases_depends_on_source_and_seed(case_set: CaseSet) -> None:
    """The same source always meets the same order, another one another; public first, device last, repeats in place."""
    order = case_set.ordered("one")
    names = [case.name for case in order]
    other = replace(case_set, order_key=b"other")
    assert case_set.ordered(b"one") == order and sorted(names) == sorted(case.name for case in case_set.cases)
    assert names != [case.name for case in case_set.ordered("two")] != [case.name for case in other.ordered("two")]
    count = sum(case.visibility == PUBLIC for case in case_set.cases)
    assert order[:count] == case_set.cases[:count] and order[-2:] == case_set.cases[-2:]
    repeat = names.index("same-memory-bfloat16")
    assert names[repeat - 1] == "ordinary-gates-bfloat16"
    assert case_set.ordered("\ud800")


def test_hidden_names_hold_no_sizes() -> None:
    """Names of hidden cases are shown, so they hold no number but a dtype's."""
    names = [case.replace("float16", "").replace("float32", "").replace("float64", "") for case in hidden_names()]
    assert names and not any(char.isdigit() for name in names for char in name)


def hidden_names() -> list[str]:
    from grader.problem import folder as problem  # noqa: PLC0415

    return [recipe.name for recipe in load_code(problem.load("situ_glu")).recipes() if recipe.visibility == HIDDEN]


@pytest.mark.parametrize(
    ("layout", "strides", "size"),
    [("contiguous", (3, 1), 6), ("transposed", (1, 2), 6), ("strided", (6, 2), 12), ("expanded", (0, 1), 3)],
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_layouts_keep_values(layout: str, strides: tuple[int, ...], size: int, dtype: str) -> None:
    """A tensor in any layout has its own storage with the strides of that layout, and the same values."""
    values = np.array([[1.0, 2.0, 3.0]] * 2) if layout == "expanded" else np.arange(6.0).reshape(2, 3)
    value = tensor_value(Array(values=values, dtype=dtype, layout=layout))
    assert value.strides == strides and len(value.data) == size * getattr(torch, dtype).itemsize
    assert torch.equal(to_tensor(value).double(), torch.from_numpy(values))


def test_leading_dimensions_have_names() -> None:
    """Messages can name every dimension of a result."""
    result = ("...", "d_ff")
    assert [name_dimensions(result, count) for count in (1, 2, 3, 4)] == [
        ("d_ff",),
        ("T", "d_ff"),
        ("B", "T", "d_ff"),
        ("D1", "B", "T", "d_ff"),
    ]
    assert name_dimensions(("n",), 1) == ("n",)


def test_moving_the_inputs_by_a_rounding_stays_within_the_allowance(code: Code, cases: tuple[Case, ...]) -> None:
    """The analytic unit of rounding holds what is measured: inputs moved by a rounding at random, many times."""
    measured = measured_rounding(code.reference)
    for case in cases:
        if case.allowance is None or not case.allowance.numel() or "large" in case.tags:
            continue
        args = [to_double(value) for value in case.call.args]
        assert case.expected is not None
        unit = measured(*args, dtype=case.dtype, **case.call.kwargs) - WIDE * float(case.expected.abs().max()) / 2
        assert bool((unit <= case.allowance / FACTOR * 2).all()), case.name


@pytest.mark.parametrize("name", RIGHT)
def test_right_code_is_accepted(name: str, cases: tuple[Case, ...]) -> None:
    """However it is written, in its own dtype or a wider one, right code passes every case."""
    assert answer(RIGHT[name], cases).failed == []


@pytest.mark.parametrize("name", WRONG)
def test_wrong_code_is_caught_by_hidden_cases(name: str, cases: tuple[Case, ...]) -> None:
    """Every mistake fails at least one hidden case, named mistakes at least two."""
    function, mistakes = WRONG[name]
    hidden = {case.name for case in cases if case.visibility == HIDDEN}
    assert len(hidden & set(answer(function, cases).failed)) >= (2 if mistakes else 1)
