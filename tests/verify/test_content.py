"""What the texts of situ_glu claim: formulas that render, numbers that are true, and files that fit each other."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, tanh, tensor

from grader.cases.draw import Recipe
from grader.problem import folder as problems
from grader.problem.arguments import Array
from grader.records import Verdict

PROBLEM = problems.load("situ_glu")
EXAMPLES = problems.example_submissions(PROBLEM)
TEXTS = {
    **{f"statement.{language}": text for language, text in PROBLEM.statements.items()},
    **{f"theory.{language}": text for language, text in PROBLEM.theories.items()},
    "problem.toml": (PROBLEM.root / "problem.toml").read_text().replace("\\\\", "\\"),
}
COMMANDS = frozenset(
    {"operatorname", "text", "underbrace", "left", "right", "lvert", "rvert", "lVert", "rVert", "qquad", "quad", "dots"}
    | {
        "frac",
        "dfrac",
        "tanh",
        "beta",
        "sigma",
        "top",
        "odot",
        "infty",
        "approx",
        "times",
        "cdot",
        "ll",
        "gg",
        "le",
        "to",
    }
)
DOUBLE = torch.float64


def module(path: Path) -> ModuleType:
    """A Python file of the package, run."""
    spec = importlib.util.spec_from_file_location(f"content_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


def situ(gate: Tensor, up: Tensor, gate_cap: float = 4.0, up_cap: float = 25.0) -> Tensor:
    """The activation of projections, written out once more for these tests."""
    return gate_cap * tanh(gate / gate_cap) * torch.sigmoid(gate) * (up_cap * tanh(up / up_cap))


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    return gate * torch.sigmoid(gate) * up


def theory(language: str) -> str:
    """The theory with numbers as Python writes them."""
    text = PROBLEM.theories[language].replace("{,}", ".")
    return re.sub(r"(\d),(\d)", r"\1.\2", text) if language == "fr" else text


# ---------------------------------------------------------------- formulas


def formulas(text: str) -> list[str]:
    """The LaTeX of a Markdown text, code taken out; an odd number of dollar signs fails."""
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    displayed = re.findall(r"\$\$(.*?)\$\$", prose, flags=re.DOTALL)
    rest = re.sub(r"\$\$.*?\$\$", "", prose, flags=re.DOTALL)
    assert rest.count("$") % 2 == 0, "a dollar sign without its partner"
    return displayed + re.findall(r"\$([^$]*)\$", rest)


def unbalanced(formula: str) -> str | None:
    """What is open at the end of a formula, or closed without having been opened."""
    opened: list[str] = []
    pairs = {"}": "{", "\\right": "\\left", ")": "(", "]": "["}
    bare = re.sub(r"\\(left|right)\s*[()\[\].|]", r"\\\1", formula)
    tokens: list[str] = re.findall(r"\\left|\\right|\\[{}]|[{}()\[\]]", bare)
    for token in tokens:
        if token in pairs.values():
            opened.append(token)
        elif token in pairs and (not opened or opened.pop() != pairs[token]):
            return token
    return opened[-1] if opened else None


@pytest.mark.parametrize("name", TEXTS)
def test_formulas_are_closed_and_use_known_commands(name: str) -> None:
    """Every formula has its brackets paired and uses commands that KaTeX has."""
    found = formulas(TEXTS[name])
    assert found
    for formula in found:
        assert unbalanced(formula) is None, formula
        assert set(re.findall(r"\\([A-Za-z]+)", formula)) <= COMMANDS, formula
        assert not formula.startswith(" ") or "\n" in formula, f"no space after a dollar sign: {formula}"


@pytest.mark.parametrize(
    ("formula", "token"),
    [(r"\frac{1}{2", "{"), (r"\left(x\right)", None), (r"\left(x", "\\left"), ("f(x))", ")"), (r"a}", "}")],
)
def test_an_open_bracket_is_found(formula: str, token: str | None) -> None:
    """The check that the test above rests on finds what is open."""
    assert unbalanced(formula) == token


# ---------------------------------------------------------------- the statement


@pytest.mark.parametrize("language", PROBLEM.languages)
def test_every_language_tells_shapes_orientation_and_dtypes(language: str) -> None:
    """Each statement names the arguments, the orientation of the projections in bold, and the dtypes."""
    text = PROBLEM.statements[language]
    for parameter in PROBLEM.entry.parameters:
        assert f"`{parameter.name}`" in text
    assert text.count("**`[d_ff, d_in]`**") == 2
    assert {"`[..., d_in]`", "**`[..., d_ff]`**", "`input_tensor @ projection.T`"} <= set(
        re.findall(r"\*\*`[^`]*`\*\*|`[^`]*`", text)
    )
    assert all(f"`{dtype}`" in text for dtype in ("float16", "bfloat16", "float32", "float64"))


def test_translations_are_complete() -> None:
    """Statement and theory exist in the same languages, with as many sections and the same displayed formulas."""
    assert list(PROBLEM.statements) == list(PROBLEM.theories) == ["en", "fr"]
    english, french = PROBLEM.theories["en"], PROBLEM.theories["fr"]
    assert english.count("\n## ") == french.count("\n## ")
    assert english.count("$$") == french.count("$$")
    assert re.findall(r"\n\|", english) == re.findall(r"\n\|", french)


def test_the_starter_has_the_entrys_signature_and_tells_the_orientation() -> None:
    """The starter defines the entry with its parameters and defaults, does nothing, and shows the shapes."""
    function = next(node for node in ast.parse(PROBLEM.starter).body if isinstance(node, ast.FunctionDef))
    defaults = [ast.literal_eval(default) for default in function.args.defaults]
    assert function.name == PROBLEM.entry.name
    assert [arg.arg for arg in function.args.args] == [parameter.name for parameter in PROBLEM.entry.parameters]
    assert defaults == [parameter.default for parameter in PROBLEM.entry.parameters if not parameter.required]
    assert isinstance(function.body[-1], ast.Pass)
    assert (ast.get_docstring(function) or "").count("[d_ff, d_in]") == 2


def test_the_examples_print_what_they_say() -> None:
    """Calling an accepted submission as each example does prints the example's result."""
    solution = module(PROBLEM.root / "submissions/accepted/textbook.py").situ_glu
    for example in PROBLEM.examples:
        assert str(eval(example.call, {"situ_glu": solution, "tensor": tensor})) == example.result


# ---------------------------------------------------------------- the theory's numbers


@pytest.mark.parametrize("language", ["en", "fr"])
def test_the_comparison_with_swiglu_is_right(language: str) -> None:
    """Each row of the table of values is what float32 computes, to the digits shown."""
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", theory(language), flags=re.MULTILINE)
    assert len(rows) == 8
    for row in rows:
        value, expected_swiglu, expected_situ = (float(cell) for cell in row)
        actual = tensor(value)
        for number, text in ((swiglu(actual, actual), row[1]), (situ(actual, actual), row[2])):
            digits = len(text.partition(".")[2])
            assert round(number.item(), digits) == float(text)
        assert expected_situ < expected_swiglu


@pytest.mark.parametrize("language", ["en", "fr"])
def test_the_scalar_example_is_right(language: str) -> None:
    """1.628 times 1.996 is about 3.25, with the factors on the way, and SwiGLU's 1.762 and 3.52."""
    two = tensor(2.0)
    gate, up = 4 * tanh(two / 4) * torch.sigmoid(two), 25 * tanh(two / 25)
    computed = [tanh(two / 4), torch.sigmoid(two), gate, up, two * torch.sigmoid(two)]
    texts = ["0.4621", "0.8808", "1.628", "1.996", "1.762"]
    for number, text in zip(computed, texts, strict=True):
        assert f"{number.item():.{len(text) - 2}f}" == text
        assert text in theory(language)
    assert f"{situ(two, two).item():.2f}" == "3.25"
    assert f"{swiglu(two, two).item():.2f}" == "3.52"
    assert [round(100 * (1 - ratio), 1) for ratio in (gate.item() / 1.7616, up.item() / 2)] == [7.6, 0.2]


def test_the_bound_is_reached_and_may_be_exceeded_by_a_rounding() -> None:
    """Large inputs give exactly 100.0; with the caps 0.1 and 0.1 the result is the number that the theory shows."""
    far = tensor(1e4)
    assert situ(far, far).item() == 100.0
    beyond = situ(far, far, 0.1, 0.1).item()
    assert beyond == 0.010000000707805157
    assert 0.01 < beyond < 0.01 * (1 + 2**-23)
    assert str(beyond) in theory("en")
    assert str(beyond) in theory("fr")


def test_float16_overflows_in_swiglu_where_the_theory_says() -> None:
    """g = u = 256 is infinity for SwiGLU in float16, and within the bound for SiTU-GLU."""
    value = tensor(256.0, dtype=torch.float16)
    assert torch.finfo(torch.float16).max == 65504
    assert swiglu(value, value).item() == float("inf")
    assert situ(value, value).item() <= 100


def gradient(function: Any, at: float) -> float:
    """The slope of a function of one number, in float32."""
    value = tensor(at, requires_grad=True)
    (slope,) = torch.autograd.grad(function(value), value)
    return float(slope)


@pytest.mark.parametrize(("cap", "alive", "dead"), [(4.0, 34.0, 37.0), (25.0, 215.0, 230.0)])
def test_a_smooth_caps_gradient_vanishes_where_the_theory_says(cap: float, alive: float, dead: float) -> None:
    """Around g = 36 and u = 226 the gradient becomes exactly 0.0; a hard clip's is 0.0 just beyond the cap."""
    for sign in (1, -1):
        assert gradient(lambda x: cap * tanh(x / cap), sign * alive) > 0
        assert gradient(lambda x: cap * tanh(x / cap), sign * dead) == 0.0
        assert gradient(lambda x: x.clamp(-cap, cap), sign * (cap + 0.01)) == 0.0
        assert gradient(lambda x: cap * tanh(x / cap), sign * (cap + 0.01)) > 0


def test_the_gate_branch_keeps_a_gradient_on_its_negative_side_for_longer() -> None:
    """The gate branch's gradient lives on at -80 through the sigmoid, and is gone at -110 and at 37."""

    def branch(gate: Tensor) -> Tensor:
        return 4 * tanh(gate / 4) * torch.sigmoid(gate)

    assert gradient(branch, -80.0) != 0.0
    assert gradient(branch, -110.0) == 0.0
    assert gradient(branch, 37.0) == 0.0


def test_the_gate_branchs_lowest_value_is_where_the_theory_says() -> None:
    """With a cap of 4 it is about -0.270 near -1.22, and the capped gate's sigmoid never falls below 0.018."""
    gates = torch.linspace(-30, 0, 300_001, dtype=DOUBLE)
    lowest, place = (4 * tanh(gates / 4) * torch.sigmoid(gates)).min(dim=0)
    assert f"{lowest.item():.3f}" == "-0.270"
    assert abs(gates[place].item() + 1.22) < 0.01
    assert f"{torch.sigmoid(4 * tanh(gates / 4)).min().item():.3f}" == "0.018"


def test_the_properties_table_is_right() -> None:
    """Agreement near the origin as predicted, SwiGLU for huge caps, odd in u, fading for negative gates."""
    gate, up = tensor(0.2, dtype=DOUBLE), tensor(-0.3, dtype=DOUBLE)
    predicted = gate**2 / (3 * 4**2) + up**2 / (3 * 25**2)
    assert (1 - situ(gate, up) / swiglu(gate, up)).item() == pytest.approx(predicted.item(), rel=0.01)
    for dtype in (torch.float32, DOUBLE):
        two = tensor(2.0, dtype=dtype)
        assert abs(situ(two, two, 1000, 1000) - swiglu(two, two)).item() < 1e-5
    ups = torch.linspace(-300, 300, 601)
    assert torch.equal(situ(tensor(1.5), -ups), -situ(tensor(1.5), ups))
    assert situ(tensor(-200.0), ups).abs().max().item() < 1e-30


def test_the_other_numbers_of_the_theory_are_right() -> None:
    """bfloat16's step below 100, tanh(1), and the count of instances."""
    hundred = tensor(100.0, dtype=torch.bfloat16)
    assert (hundred - torch.nextafter(hundred, hundred * 0)).item() == 0.5
    assert f"{tanh(tensor(1.0)).item():.3f}" == "0.762"
    assert 1 + 92 * (2 + 896) == 82_617
    assert r"82\,617" in theory("en")
    assert r"82\,617" in theory("fr")


# ---------------------------------------------------------------- files that fit each other


def names_bound(tree: ast.Module) -> set[str]:
    """The names that a source binds at its top level."""
    targets = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return targets | {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.path.parent.name}/{example.path.stem}")
def test_an_example_submission_is_python_that_defines_the_entry(example: problems.ExampleSubmission) -> None:
    """Every example parses and binds the entry's name; those meant not to load are the exception."""
    if example.verdicts == (Verdict.COMPILE_ERROR,):
        return
    assert PROBLEM.entry.name in names_bound(ast.parse(example.path.read_bytes()))


def test_every_verdict_but_the_graders_own_has_an_example() -> None:
    """There is a folder for each verdict that a submission can earn, and a dozen accepted styles at least."""
    verdicts = [example.path.parent.name for example in EXAMPLES]
    assert set(verdicts) == set(Verdict) - {Verdict.INTERNAL_ERROR}
    assert verdicts.count("accepted") >= 12


def test_every_mistake_has_its_code_and_an_example_of_its_own() -> None:
    """problem.toml, mistakes.py and the example submissions know the same mistakes, in the same order."""
    ids = [mistake.id for mistake in PROBLEM.mistakes]
    assert list(module(PROBLEM.root / "mistakes.py").MISTAKES) == ids
    assert {example.mistakes[0] for example in EXAMPLES if len(example.mistakes) == 1} == set(ids)
    assert sum(len(example.mistakes) == 2 for example in EXAMPLES) >= 2


def code(path: Path) -> str:
    """A source without its opening docstring, comments and layout."""
    return "".join(ast.dump(node) for node in ast.parse(path.read_bytes()).body if not isinstance(node, ast.Expr))


def test_no_two_examples_are_the_same() -> None:
    """Each example submission earns its place with code of its own."""
    sources = [code(example.path) for example in EXAMPLES if example.verdicts != (Verdict.COMPILE_ERROR,)]
    assert len(set(sources)) == len(sources)


def test_a_hint_names_no_solution() -> None:
    """No mistake's title or hint holds code that could be copied."""
    for mistake in PROBLEM.mistakes:
        assert not re.search(r"torch|tanh\(|sigmoid\(|_cap|\.T\b|`", mistake.title + mistake.hint), mistake.id


@pytest.mark.parametrize("record", [Recipe, Array])
def test_the_documentation_explains_every_field_of_the_python_files_records(record: Any) -> None:
    """docs/problem-format.md has one row for each field of a Recipe and of an Array."""
    text = (PROBLEM.root.parent.parent / "docs/problem-format.md").read_text()
    table = text.split(f"| field of a{'n' if record is Array else ''} `{record.__name__}` |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE)) == {field.name for field in fields(record)}
