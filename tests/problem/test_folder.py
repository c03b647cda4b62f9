"""The schema of problem packages: what breaks it is named with file and key, and what a page is told."""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from grader.cases import counterexamples
from grader.errors import ProblemError, UsageError
from grader.problem import folder as problems
from grader.problem import schema
from grader.problem.toml import key_path, parse, table_type
from grader.records import Limits, Verdict
from tests.support.strangers import as_a_stranger

TABLE: dict[str, Any] = {
    "format": 1,
    "title": "Gated sum",
    "summary": "Adds what a gate lets through.",
    "difficulty": "easy",
    "language": "en",
    "public_seed": 7,
    "tags": ["sum"],
    "checks": ["gradient"],
    "hints": ["Add."],
    "requirements": ["Return one tensor."],
    "constraints": ["There are two."],
    "entry": {
        "kind": "module",
        "name": "GatedSum",
        "result": ["...", "d_ff"],
        "result_meaning": "the sum",
        "parameters": [{"name": "x", "kind": "tensor", "meaning": "features", "shape": ["...", "d_in"]}],
        "init": [
            {"name": "d_ff", "kind": "integer", "meaning": "width", "positive": True},
            {"name": "beta", "kind": "number", "meaning": "cap", "default": 4.0, "optional": True},
        ],
        "state": [{"name": "proj.weight", "shape": ["2*d_ff", "d_in"], "meaning": "weight"}],
    },
    "limits": {"wall_s": 5, "memory_bytes": 1 << 20},
    "mistakes": [{"id": "no_gate", "title": "No gate", "hint": "Look at the gate."}],
    "examples": [{"title": "One", "call": "f(1)", "result": "1", "explanation": "It is one."}],
    "sources": [
        {
            "title": "Code",
            "url": "https://example.org/x",
            "revision": "1a",
            "file": "x.py",
            "lines": "1-2",
            "supports": "all",
        }
    ],
    "self_check": [{"question": "Why?", "answer": "Because."}],
    "series": {"title": "Sums", "previous": {"title": "Zero", "slug": "zero"}, "next": {"title": "Two", "slug": "two"}},
    "place": {"path": ["Model", "Layer"], "text": "Everywhere."},
}


def tables(table: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Every table in a table, with its path."""
    if isinstance(table, dict):
        yield path, table
    for key, value in table.items() if isinstance(table, dict) else enumerate(table):
        if isinstance(value, dict) or (isinstance(value, list) and value and isinstance(value[0], dict)):
            yield from tables(value, (*path, key))


def record_at(path: tuple[str | int, ...]) -> Any:
    """The record that a table of this path is parsed to."""
    record: Any = schema.Manifest
    for part in path:
        if isinstance(part, str):
            record = table_type(record.model_fields[part].annotation)
    return record


KEYS = [(path, key) for path, table in tables(TABLE) for key in table]
REQUIRED = [
    (path, key)
    for path, key in KEYS
    if not is_dataclass(record_at(path)) and record_at(path).model_fields[key].is_required()
]


def changed(path: tuple[str | int, ...], change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """A copy of TABLE with the table at the path changed."""
    whole = copy.deepcopy(TABLE)
    table: Any = whole
    for part in path:
        table = table[part]
    change(table)
    return whole


def complaint(table: dict[str, Any]) -> str:
    """What parsing the table complains of."""
    with pytest.raises(ProblemError) as caught:
        parse(Path("gated_sum/problem.toml"), schema.Manifest, table)
    return str(caught.value)


def test_the_table_of_these_tests_uses_every_key_and_is_right() -> None:
    """Parsing accepts a package with every optional table, and these tests see each of the schema's tables."""
    manifest = parse(Path("problem.toml"), schema.Manifest, TABLE)
    assert manifest.entry.state[0].shape == ("2*d_ff", "d_in")
    assert manifest.limits == Limits(wall_s=5.0, memory_bytes=1 << 20)
    assert set(TABLE) == set(schema.Manifest.model_fields)


@pytest.mark.parametrize(
    ("path", "key"), REQUIRED, ids=lambda part: key_path(part, "") if isinstance(part, tuple) else part
)
def test_a_missing_key_is_named(path: tuple[str | int, ...], key: str) -> None:
    """Each required key that is left out is named with its whole path and with the file."""
    message = complaint(changed(path, lambda table: table.pop(key)))
    assert message.startswith(f"gated_sum/problem.toml: missing key `{key_path((*path, key), '')}`: add it")


@pytest.mark.parametrize(
    ("path", "key"), KEYS, ids=lambda part: key_path(part, "") if isinstance(part, tuple) else part
)
def test_a_misspelt_key_is_named_with_the_right_spelling(path: tuple[str | int, ...], key: str) -> None:
    """A key with a letter too many is unknown in every table, and the right one is suggested before it is missed."""
    message = complaint(changed(path, lambda table: table.update({f"{key}x": table.pop(key)})))
    assert f"problem.toml: unknown key `{key_path((*path, f'{key}x'), '')}`: did you mean `{key}`?" in message


@pytest.mark.parametrize(
    ("path", "key"), KEYS, ids=lambda part: key_path(part, "") if isinstance(part, tuple) else part
)
def test_a_value_of_the_wrong_kind_is_named(path: tuple[str | int, ...], key: str) -> None:
    """A table of dates, which is right nowhere, is refused for every key."""
    message = complaint(changed(path, lambda table: table.update({key: {"when": 1}})))
    where = key_path((*path, key), "")
    assert re.search(rf"problem.toml: (unknown |missing )?key `{re.escape(where)}(\.\w+)?`: \w+", message), message


@pytest.mark.parametrize(
    ("path", "change", "expected"),
    [
        ((), {"format": 2}, "key `format`: Input should be 1, found 2"),
        ((), {"title": ""}, "key `title`: String should have at least 1 character"),
        ((), {"hints": "one"}, "key `hints`: Input should be a valid array, found 'one'"),
        ((), {"public_seed": "7"}, "key `public_seed`: Input should be a valid integer, found '7'"),
        ((), {"difficulty": "simple"}, "key `difficulty`: Input should be 'easy', 'medium' or 'hard'"),
        ((), {"mistakes": TABLE["mistakes"] * 2}, "`no_gate` stands twice in `mistakes`"),
        (("entry",), {"result": ["d_in", "..."]}, "key `entry.result`: `...` is no dimension"),
        (("entry",), {"kind": "function"}, "key `entry`: `init` and `state` are for `kind"),
        (("entry", "init", 0), {"shape": ["d"]}, "`shape`, `d_ff` is of kind integer: take `shape` out"),
        (("limits",), {"cpu_s": 0}, "key `limits`: `cpu_s` is 0.0: give a number above 0"),
        (("sources", 0), {"url": "http://example.org"}, "key `sources[0].url`: String should match"),
    ],
)
def test_a_value_out_of_its_range_is_named(path: tuple[str | int, ...], change: dict[str, Any], expected: str) -> None:
    """Values of the right kind that make no sense are refused with what would."""
    assert expected in complaint(changed(path, lambda table: table.update(change)))


# ---------------------------------------------------------------- packages on disk


MINIMAL = """
format = 1
title = "Sum"
summary = "Adds."
difficulty = "easy"
language = "en"
public_seed = 7
hints = []
requirements = ["Return one tensor."]
constraints = []
[entry]
kind = "function"
name = "add"
result = ["..."]
result_meaning = "the sum"
[[entry.parameters]]
name = "x"
kind = "tensor"
shape = ["..."]
meaning = "numbers"
[[examples]]
title = "One"
call = "add(1)"
result = "1"
explanation = "It is one."
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small package in a folder of problems of its own."""
    folder = tmp_path / "add"
    folder.mkdir()
    (folder / "problem.toml").write_text(MINIMAL)
    for name, text in (("statement.md", "Add."), ("theory.md", "Adding."), ("starter.py", "def add(x): pass")):
        (folder / name).write_text(text)
    monkeypatch.setenv("GRADER_PROBLEMS", str(tmp_path))
    return folder


def test_a_package_is_found_by_slug_and_by_folder(package: Path) -> None:
    """The slug, the folder's path and the catalogue lead to the same problem."""
    by_slug = problems.load("add")
    assert by_slug == problems.load(package) == problems.load(str(package)) == problems.catalogue()[0]
    assert (by_slug.slug, by_slug.statement, by_slug.languages, by_slug.limits) == ("add", "Add.", ("en",), Limits())


@pytest.mark.parametrize("slug", ["sub", "../add/..", "Add", "", "add\0", "x" * 5000, "\udcff", "\ud800"])
def test_an_unknown_problem_is_a_usage_error_that_lists_what_there_is(package: Path, slug: str) -> None:
    """What is no problem is refused in one line, with the slugs that would do."""
    with pytest.raises(UsageError, match=r"^no problem .*\(add\)") as caught:
        problems.load(slug)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["statement.md", "theory.md", "starter.py"])
def test_a_missing_text_is_named(package: Path, name: str) -> None:
    """A package without one of its texts is refused, and the file is named."""
    (package / name).unlink()
    with pytest.raises(ProblemError, match=rf"add/{name}: the file is missing: write it"):
        problems.load("add")


def test_an_empty_text_and_one_that_is_not_utf8_are_named(package: Path) -> None:
    """Texts that say nothing, or can't be read, are refused with the file's name."""
    (package / "theory.md").write_text(" \n")
    with pytest.raises(ProblemError, match=r"theory\.md: the file is empty"):
        problems.load("add")
    (package / "theory.md").write_bytes(b"caf\xe9")
    with pytest.raises(ProblemError, match=r"theory\.md: not UTF-8 at byte 3"):
        problems.load("add")


def test_broken_toml_is_named_with_its_line(package: Path) -> None:
    """A syntax error in problem.toml gives file and line."""
    (package / "problem.toml").write_text(MINIMAL.replace('"Sum"', "Sum"))
    with pytest.raises(ProblemError, match=r"add/problem\.toml: not TOML: .*line 3"):
        problems.load("add")


def test_a_date_where_a_text_belongs_is_refused(package: Path) -> None:
    """TOML's dates, which JSON has not, do not pass for numbers or lists."""
    (package / "problem.toml").write_text(MINIMAL.replace("public_seed = 7", "public_seed = 2026-01-01"))
    with pytest.raises(ProblemError, match="key `public_seed`"):
        problems.load("add")


def test_other_languages_are_found_and_presented(package: Path) -> None:
    """statement.fr.md is offered as a translation; the package's own language comes first."""
    (package / "statement.fr.md").write_text("Additionnez.")
    shown = problems.present(problems.load("add"))
    assert shown["languages"] == ["en", "fr"]
    assert shown["translations"] == {"fr": {"statement": "Additionnez."}}


def test_a_second_text_in_the_own_language_is_refused(package: Path) -> None:
    """statement.en.md beside an English statement.md leaves no doubt about which one counts: it is an error."""
    (package / "statement.en.md").write_text("Add!")
    with pytest.raises(ProblemError, match=r"statement\.en\.md"):
        problems.load("add")


# ---------------------------------------------------------------- example submissions


def write_examples(package: Path, expectations: str = "") -> None:
    for name in ("accepted/plain.py", "wrong_answer/twice.py"):
        path = package / "submissions" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("def add(x): return x")
    (package / "submissions.toml").write_text(expectations or "# nothing to add\n")


def test_the_folder_is_the_verdict_unless_submissions_toml_permits_others(package: Path) -> None:
    """An example's verdicts are its folder's name, or the set that submissions.toml gives."""
    write_examples(
        package, '["wrong_answer/twice.py"]\nverdicts = ["wrong_answer", "time_limit_exceeded"]\nmistakes = ["two"]'
    )
    plain, twice = problems.example_submissions(problems.load("add"))
    assert plain.verdicts == (Verdict.ACCEPTED,)
    assert (twice.verdicts, twice.mistakes) == ((Verdict.WRONG_ANSWER, Verdict.TIME_LIMIT_EXCEEDED), ("two",))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('["accepted/gone.py"]\nmistakes = []', "key `accepted/gone.py`: no such file"),
        ('["accepted/plain.py"]\nmistake = []', "unknown key `accepted/plain.py.mistake`: did you mean `mistakes`?"),
        ('["accepted/plain.py"]\nverdicts = ["right"]', "key `accepted/plain.py.verdicts[0]`"),
        ('"accepted/plain.py" = 1', "key `accepted/plain.py`"),
    ],
)
def test_what_submissions_toml_gets_wrong_is_named(package: Path, text: str, expected: str) -> None:
    """A file that is not there, an unknown key and an unknown verdict are errors."""
    write_examples(package, text)
    with pytest.raises(ProblemError) as caught:
        problems.example_submissions(problems.load("add"))
    assert f"submissions.toml: {expected}" in str(caught.value)


def test_a_folder_named_after_no_verdict_is_refused(package: Path) -> None:
    """submissions/acepted/ is an error that lists the verdicts."""
    write_examples(package)
    (package / "submissions/accepted").rename(package / "submissions/acepted")
    with pytest.raises(ProblemError, match="no such verdict: name the folder after one of"):
        problems.example_submissions(problems.load("add"))


# ---------------------------------------------------------------- what is shown


def test_a_page_is_told_everything_but_hints_for_mistakes_and_what_is_the_authors_own() -> None:
    """The presented problem has the texts and the mistakes' titles; no mistake's hint, seed or path."""
    problem = problems.load("situ_glu")
    shown = problems.present(problem)
    text = json.dumps(shown)
    assert set(shown) >= {
        "statement",
        "theory",
        "starter",
        "examples",
        "hints",
        "requirements",
        "constraints",
        "limits",
    }
    assert shown["mistakes"][0] == {"id": problem.mistakes[0].id, "title": problem.mistakes[0].title}
    assert not any(json.dumps(mistake.hint) in text for mistake in problem.mistakes)
    assert str(problem.root) not in text
    assert "public_seed" not in text
    assert set(problems.present_short(problem)) <= set(shown)


def test_loading_problems_imports_no_torch() -> None:
    """The API process loads and presents all problems without torch."""
    code = (
        "import sys; from grader.problem import folder; shown = [folder.present(p) for p in folder.catalogue()];"
        "assert shown; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ---------------------------------------------------------------- the documentation


def documented() -> dict[str, set[str]]:
    """The keys of each table in docs/problem-format.md, by the table's heading."""
    found: dict[str, set[str]] = {}
    heading = ""
    for line in (Path(__file__).parents[2] / "docs/problem-format.md").read_text().splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif row := re.match(r"\| `(\w+)` \| (yes|no) \|", line):
            found.setdefault(heading, set()).add(f"{row[1]} {row[2]}")
    return found


def existing() -> dict[str, set[str]]:
    """The keys of each table of the schema, by the heading that it has in the documentation."""
    found = {}
    for path, _ in tables(TABLE):
        names = [part for part in path if isinstance(part, str)]
        brackets = ("[[", "]]") if isinstance((*path, "")[-2 if path else -1], int) else ("[", "]")
        heading = f"`{brackets[0]}{'.'.join(names)}{brackets[1]}`" if path else "Keys at the top"
        found[heading] = keys(record_at(path))
    kept = {"`[[counterexamples]]`": keys(counterexamples.Counterexample)}
    return {**found, **kept, '`["<verdict>/<file>.py"]`': keys(schema.Expectation)}


def keys(record: Any) -> set[str]:
    """Each key of a record, with whether it must be there."""
    if is_dataclass(record):
        return {f"{field.name} no" for field in fields(record)}
    return {f"{name} {'yes' if field.is_required() else 'no'}" for name, field in record.model_fields.items()}


def test_the_documentation_explains_every_key_and_no_other() -> None:
    """docs/problem-format.md has one row for each key of each table, and says rightly which are needed."""
    assert documented() == existing()


def test_a_broken_package_hides_no_other(package: Path, tmp_path: Path) -> None:
    """The catalogue has the sound ones; each broken one is told by its file; other folders are none."""
    for name in ("broken", "wrong-name"):
        shutil.copytree(package, tmp_path / name)
    (tmp_path / "broken/problem.toml").write_text("title = ", encoding="utf-8")
    (tmp_path / "no package").mkdir()
    errors: list[ProblemError] = []

    assert [found.slug for found in problems.catalogue(errors.append)] == ["add"]
    assert [str(error).partition(": ")[0] for error in errors] == [
        str(tmp_path / "broken/problem.toml"),
        str(tmp_path / "wrong-name"),
    ]


def first_error() -> str:
    """The first error of the catalogue; empty if there is none."""
    errors: list[ProblemError] = []
    problems.catalogue(errors.append)
    return str(errors[0]) if errors else ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user who may not read")
@pytest.mark.parametrize("shut", ["", "add", "add/problem.toml", "add/statement.md"])
def test_what_may_not_be_read_is_told(package: Path, tmp_path: Path, shut: str) -> None:
    """A folder or file that is closed to us is an error that names it, and never an absent problem."""
    for place in [tmp_path, *tmp_path.parents]:
        place.chmod(place.stat().st_mode | 0o055)
    open_to_all = as_a_stranger(first_error)
    (tmp_path / shut).chmod(0o600)
    told = as_a_stranger(first_error).removeprefix("ProblemError: ")

    assert open_to_all == ""
    assert told.startswith(str(tmp_path / shut))
    assert "Permission denied" in told
