"""`grader problem verify`: sound packages pass, and every kind of fault is found, with file and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.cases.code import load_code
from grader.cases.make import draw_cases
from grader.problem import folder as problem
from grader.problem.folder import package_folders
from grader.problem.schema import Problem
from grader.sandbox.local import LocalSandbox
from grader.verify.claims import check_claims, run_claims
from grader.verify.finding import Finding
from grader.verify.inputs import check_coverage, check_duplicates, check_junk, coverage
from grader.verify.package import Options, Report, verify
from grader.verify.prose import check_texts
from grader.verify.steady import Elsewhere, check_again
from grader.verify.worked import check_examples
from tests.support.packages import change, make

QUICK = Options(elsewhere=False)
OTHERS = [folder for folder in package_folders() if folder.name != "situ_glu"]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new package, as `grader problem new` makes it."""
    return make(tmp_path, monkeypatch)


def checks(report: Report) -> set[tuple[str, str]]:
    """(check, file) of all findings."""
    return {(finding.check, finding.file) for finding in report.findings}


@pytest.mark.slow
@pytest.mark.parametrize("folder", OTHERS, ids=lambda folder: folder.name)
def test_packages_here_are_verified(folder: Path, sandbox: LocalSandbox) -> None:
    """Every package of the repository passes the whole check (situ_glu in test_ingredients)."""
    report = verify(folder, sandbox)
    assert [str(finding) for finding in report.findings] == []
    assert report.claims
    assert report.worst_accepted.error is not None


def test_new_package_is_verified(package: Path, sandbox: LocalSandbox) -> None:
    """What `problem new` makes passes, with every mistake named in the kill matrix and every argument covered."""
    report = verify(package, sandbox)
    record = report.to_json()
    assert [str(finding) for finding in report.findings] == []
    assert {row["mistake"] for row in record["kills"]} == {"fixed_slope", "no_slope", "larger_of_both"}
    assert all(len(row["cases"]) >= 2 for row in record["kills"])
    assert {row["argument"] for row in record["arguments"]} == {"x", "slope"}
    assert record["verified"] is True
    assert record["slowest"]["cpu_s"] * 4 < record["slowest"]["limit_s"]


# ---------------------------------------------------------------- texts, without a sandbox

TEXTS: list[tuple[str, str, str, str]] = [
    ("statement.md", "s\\,x", "\\frac{s}{", "formulas"),
    ("theory.md", "$\\max(x, 0)$", "$\\max(x, 0)", "formulas"),
    ("problem.toml", "$0.01 \\\\times (-2)$", "$0.01 \\\\tmies (-2)$", "formulas"),
    ("theory.md", "A plain rectifier", "[A plain rectifier](nowhere.md)", "links"),
    ("theory.md", "A plain rectifier", "[A plain rectifier](http://example.org)", "links"),
    ("theory.md", "A plain rectifier", "TODO: a plain rectifier", "texts"),
    ("statement.md", "`slope`", "the slope", "names"),
    ("starter.py", "slope: float", "share: float", "starter"),
    ("starter.py", "def leaky", "def leeky", "starter"),
    ("starter.py", "    pass", "    pass)", "starter"),
    ("problem.toml", 'call = "leaky(tensor([-2.0, 3.0]), slope=2)"', 'call = "other(1)"', "names"),
    ("submissions.toml", '["no_slope"]', '["no_sloop"]', "names"),
    ("submissions.toml", 'mistakes = ["no_slope"]', "mistakes = []", "mistakes"),
    ("problem.toml", 'supports = "The', 'file = "paper.tex"\nsupports = "The', "sources"),
]


@pytest.mark.parametrize(("file", "old", "new", "check"), TEXTS)
def test_faults_in_texts_are_found(package: Path, file: str, old: str, new: str, check: str) -> None:
    """A fault in what people read is found, in its file."""
    broken = change(package, file, old, new)
    found = list(check_texts(broken))
    assert check in {finding.check for finding in found}
    assert file in {finding.file for finding in found if finding.check == check} or check == "mistakes"
    assert all(finding.mend for finding in found)


def test_sound_texts_have_no_findings(package: Path) -> None:
    """The texts of the skeleton are sound."""
    assert list(check_texts(problem.load_folder(package))) == []


# ---------------------------------------------------------------- code of the package, without a sandbox


def found_in_cases(broken: Problem) -> list[Finding]:
    """What the checks on cases, examples and claims say."""
    code = load_code(broken)
    cases = draw_cases(broken, code, b"test")
    covered = coverage(broken, cases)
    found = [*check_junk(broken, cases), *check_duplicates(cases), *check_coverage(broken, covered)]
    found += [*check_examples(broken, code), *check_claims(run_claims(broken, code))]
    return found + list(check_again(broken, code, b"test", cases))


CODE: list[tuple[str, str, str, str]] = [
    ("cases.py", "kwargs=named)", "kwargs={})", "arguments"),
    ("cases.py", "draw.bell(shape, 2.0)", "__import__('numpy').random.default_rng().normal(size=shape)", "determinism"),
    ("reference.py", "return torch.where(x > 0, x, slope * x)", "return torch.where(x > 0, x, slope * x) + "
     "1e-9 * torch.rand(1).double()", "determinism"),
    ("problem.toml", "tensor([-4.,  3.])", "tensor([-4.,  4.])", "examples"),
    ("claims.py", "3.0 * f(x, 0.25)", "2.0 * f(x, 0.25)", "claims"),
    ("claims.py", '    """Above zero the input comes back, whatever the slope."""\n', "", "claims"),
    ("cases.py", 'yield recipe("no-elements"', 'yield recipe("twin", "", (5, 3), stream="usual-slope-float32")\n    '
     'yield recipe("no-elements"', "duplicates"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "check"), CODE)
def test_faults_in_code_are_found(package: Path, file: str, old: str, new: str, check: str) -> None:
    """A fault in reference, cases, claims or examples is found."""
    assert check in {finding.check for finding in found_in_cases(change(package, file, old, new))}


def test_sound_code_has_no_findings(package: Path) -> None:
    """The code of the skeleton is sound."""
    assert found_in_cases(problem.load_folder(package)) == []


def test_cases_that_hang_on_the_instruction_set_are_found(package: Path) -> None:
    """Inputs that come out otherwise under ATEN_CPU_CAPABILITY=default are found."""
    broken = change(
        package, "cases.py", "values = draw.bell(shape, 2.0)",
        "import os\n        values = draw.bell(shape, 2.0 + ('ATEN_CPU_CAPABILITY' in os.environ))",
    )  # fmt: skip
    cases = draw_cases(broken, load_code(broken), b"test")
    with Elsewhere(broken, b"test") as elsewhere:
        assert [finding.check for finding in elsewhere.check(broken.slug, cases)] == ["determinism"]


# ---------------------------------------------------------------- with the sandbox

RUNS: list[tuple[str, str, str, set[tuple[str, str]]]] = [
    ("starter.py", "    pass", "    return x.where(x > 0, slope * x)", {("schema", "cases.py")}),
    ("starter.py", "import torch\n", "import torch, no_such_module\n", {("starter", "starter.py")}),
    ("submissions/accepted/library.py", "leaky_relu(x, slope)", "leaky_relu(x)",
     {("submissions", "submissions/accepted/library.py")}),
    ("submissions/wrong_answer/no_slope.py", "x.relu()", "x.relu() + slope * x.clamp(max=0)",
     {("submissions", "submissions/wrong_answer/no_slope.py")}),
    ("submissions.toml", 'mistakes = ["no_slope"]', 'mistakes = ["no_slope", "fixed_slope"]',
     {("submissions", "submissions/wrong_answer/no_slope.py"), ("mistakes", "submissions/")}),
    ("mistakes.py", "return x.clamp(min=0.0)", "return torch.where(x > 0, x, slope * x)",
     {("mistakes", "cases.py"), ("submissions", "submissions/wrong_answer/no_slope.py")}),
    ("problem.toml", "format = 1", "format = 2", {("schema", "problem.toml")}),
]  # fmt: skip


@pytest.mark.parametrize("fault", RUNS, ids=lambda fault: f"{fault[0]}: {fault[2][:30]}")
def test_faults_that_show_in_runs_are_found(
    package: Path, sandbox: LocalSandbox, fault: tuple[str, str, str, set[tuple[str, str]]]
) -> None:
    """A starter, an example or a mistake that does not do what it should is found; nothing else is."""
    file, old, new, expected = fault
    path = package / file
    path.write_text(path.read_text().replace(old, new, 1))
    assert checks(verify(package, sandbox, QUICK)) == expected


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("cases.py", "values = draw.bell(shape, 2.0)", "values = draw.ball(shape, 2.0)"),
        ("cases.py", "    for dtype in DTYPES:", "    for dtype in DTYPES.values():"),
        ("reference.py", "return torch.where(x > 0, x, slope * x)", "return torch.whare(x > 0, x, slope * x)"),
        ("mistakes.py", "return x.clamp(min=0.0)", "return x.clomp(min=0.0)"),
        ("mistakes.py", "def no_slope", "def no_slop"),
        ("claims.py", "from grader.cases.draw import Draw", "from grader.cases.draw import Drow"),
    ],
)
def test_code_that_fails_is_a_finding(package: Path, sandbox: LocalSandbox, file: str, old: str, new: str) -> None:
    """Whatever an author's code raises is reported as a finding, never as a failure of the grader."""
    change(package, file, old, new)
    found = verify(package, sandbox, QUICK).findings
    assert found
    assert found[0].file in (file, "cases.py")
    assert "Error" in found[0].what or "define a function" in found[0].what


def test_too_little_time_is_found(package: Path, sandbox: LocalSandbox) -> None:
    """A limit that the slowest accepted example comes near to is found."""
    text = (package / "problem.toml").read_text()
    (package / "problem.toml").write_text(text.replace("[[mistakes]]", "[limits]\ncpu_s = 0.05\n\n[[mistakes]]", 1))
    found = checks(verify(package, sandbox, QUICK))
    assert found & {("time", "problem.toml"), ("submissions", "submissions/accepted/where.py")}


def test_findings_are_printed_as_a_linter_does(
    package: Path, sandbox: LocalSandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    """`grader problem verify` exits 1 and prints file, what and how to mend; --json prints one record."""
    from grader.cli.main import run  # noqa: PLC0415

    (package / "theory.md").write_text((package / "theory.md").read_text().replace("$\\max(x, 0)$", "$\\mux(x, 0)$"))
    assert run(["problem", "verify", "leaky"]) == 1
    out = capsys.readouterr().out
    assert "leaky/theory.md: [formulas] $\\mux(x, 0)$ does not render" in out
    assert out.rstrip().endswith(": mend the LaTeX")
    assert run(["problem", "verify", "no_such_problem"]) == 2
