"""Checks a package's texts: formulas that render, links, names that exist, sources that can be found again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from grader.problem.folder import example_submissions, package_folders
from grader.problem.schema import Problem
from grader.verify.finding import Finding
from grader.verify.latex import fault

CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
DISPLAYED = re.compile(r"\$\$(.*?)\$\$", re.DOTALL)
INLINE = re.compile(r"(?<!\\)\$((?:[^$\\]|\\.)*?)(?<!\\)\$", re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]*)[^)]*\)")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|TBD)\b")


def check_texts(problem: Problem) -> Iterator[Finding]:
    """All findings on what people read."""
    for file, text in texts(problem):
        yield from check_formulas(file, text)
        yield from check_links(problem, file, text)
        if found := UNFINISHED.search(text):
            yield Finding(check="texts", file=file, what=f"`{found[0]}` stands in a text", mend="finish the text")
    yield from check_names(problem)
    yield from check_sources(problem)
    yield from check_languages(problem)


def texts(problem: Problem) -> Iterator[tuple[str, str]]:
    """(file, Markdown) of everything with prose in it; strings of problem.toml one by one."""
    for name, by_language in (("statement", problem.statements), ("theory", problem.theories)):
        for language, text in by_language.items():
            yield f"{name}.md" if language == problem.language else f"{name}.{language}.md", text
    strings = [*problem.hints, *problem.requirements, *problem.constraints, problem.summary]
    strings += [mistake.title for mistake in problem.mistakes] + [mistake.hint for mistake in problem.mistakes]
    strings += [example.explanation for example in problem.examples]
    strings += [text for one in problem.self_check for text in (one.question, one.answer)]
    strings += [parameter.meaning for parameter in (*problem.entry.parameters, *problem.entry.init)]
    strings += [problem.place.text] if problem.place else []
    yield from (("problem.toml", text) for text in strings)


def check_formulas(file: str, text: str) -> Iterator[Finding]:
    """Every formula parses; dollar signs come in pairs."""
    prose = CODE.sub("", text)
    rest = INLINE.sub("", DISPLAYED.sub("", prose)).replace("\\$", "")
    if "$" in rest:
        yield Finding(
            check="formulas", file=file, what=f"a dollar sign has no partner near {_near(rest)!r}", mend="close it"
        )
        return
    for formula in [*DISPLAYED.findall(prose), *INLINE.findall(DISPLAYED.sub("", prose))]:
        if what := fault(formula):
            shown = " ".join(formula.split())[:60]
            yield Finding(check="formulas", file=file, what=f"${shown}$ does not render: {what}", mend="mend the LaTeX")


def _near(text: str) -> str:
    place = text.index("$")
    return " ".join(text[max(0, place - 20) : place + 20].split())


def check_links(problem: Problem, file: str, text: str) -> Iterator[Finding]:
    """Links lead to https or to a file of the package. Nothing is fetched."""
    for target in LINK.findall(CODE.sub("", text)):
        if target.startswith(("https://", "#")) and target not in ("https://", "#"):
            continue
        path = PurePosixPath(target.partition("#")[0])
        if not target or "://" in target or ".." in path.parts or not (problem.root / path).is_file():
            yield Finding(
                check="links", file=file, what=f"the link {target!r} leads nowhere",
                mend="give an https:// address, or a file of the package",
            )  # fmt: skip


def check_names(problem: Problem) -> Iterator[Finding]:
    """Names fit each other: statement, starter, examples, mistakes, expectations, neighbours."""
    for language, text in problem.statements.items():
        file = "statement.md" if language == problem.language else f"statement.{language}.md"
        for parameter in (*problem.entry.parameters, *problem.entry.init):
            if f"`{parameter.name}`" not in text:
                yield Finding(
                    check="names", file=file, what=f"the argument `{parameter.name}` is never named",
                    mend="say what it is, with its name in backquotes",
                )  # fmt: skip
    yield from check_starter(problem)
    for example in problem.examples:
        if problem.entry.name not in example.call:
            yield Finding(
                check="names", file="problem.toml", what=f"the example {example.title!r} does not call the entry",
                mend=f"call `{problem.entry.name}`",
            )  # fmt: skip
    yield from check_expectations(problem)
    known = {folder.name for folder in package_folders()} | {problem.slug}
    for neighbour in (problem.series.previous, problem.series.next) if problem.series else ():
        if neighbour and neighbour.slug and neighbour.slug not in known:
            yield Finding(
                check="names", file="problem.toml", what=f"series: there is no problem {neighbour.slug!r}",
                mend="take `slug` out until there is",
            )  # fmt: skip


def check_starter(problem: Problem) -> Iterator[Finding]:
    """The starter parses and defines the entry with the entry's arguments."""
    try:
        tree = ast.parse(problem.starter)
    except SyntaxError as error:
        yield Finding(check="starter", file="starter.py", what=f"line {error.lineno}: {error.msg}", mend="mend it")
        return
    kind = ast.ClassDef if problem.entry.kind == "module" else ast.FunctionDef
    node = next((one for one in tree.body if isinstance(one, kind) and one.name == problem.entry.name), None)
    if node is None:
        what = "class" if problem.entry.kind == "module" else "function"
        yield Finding(
            check="starter", file="starter.py", what=f"there is no {what} `{problem.entry.name}`", mend="define it"
        )
        return
    wanted = [parameter.name for parameter in problem.entry.parameters]
    signatures = {one.name: one for one in ast.walk(node) if isinstance(one, ast.FunctionDef)}
    pairs = [(signatures.get("forward"), wanted), (signatures.get("__init__"), [p.name for p in problem.entry.init])]
    for function, names in pairs if isinstance(node, ast.ClassDef) else [(node, wanted)]:
        found = [one.arg for one in [*function.args.args, *function.args.kwonlyargs]] if function else []
        if [name for name in found if name != "self"] != names:
            yield Finding(
                check="starter", file="starter.py", what=f"the arguments are {found}, in problem.toml {names}",
                mend="make both the same",
            )  # fmt: skip


def check_expectations(problem: Problem) -> Iterator[Finding]:
    """submissions.toml names mistakes that exist, and every mistake has an example of its own."""
    known, shown = {mistake.id for mistake in problem.mistakes}, set()
    for example in example_submissions(problem):
        shown |= {name for name in example.mistakes if len(example.mistakes) == 1}
        for name in sorted(set(example.mistakes) - known):
            yield Finding(
                check="names", file="submissions.toml", what=f"{example.path.name}: there is no mistake {name!r}",
                mend="use an id of [[mistakes]]",
            )  # fmt: skip
    for name in sorted(known - shown):
        yield Finding(
            check="mistakes", file="submissions/", what=f"no example makes the mistake {name!r} alone",
            mend=f"add one to submissions/wrong_answer/ and say so in submissions.toml: mistakes = [{name!r}]",
        )  # fmt: skip


def check_sources(problem: Problem) -> Iterator[Finding]:
    """A source that names a file says at which revision and where."""
    for source in problem.sources:
        missing = [key for key in ("url", "revision") if source.file and not getattr(source, key)]
        missing += ["file"] if source.lines and not source.file else []
        if missing:
            yield Finding(
                check="sources", file="problem.toml", what=f"source {source.title!r} has no `{missing[0]}`",
                mend="pin it, so that readers find the same text",
            )  # fmt: skip


def check_languages(problem: Problem) -> Iterator[Finding]:
    """Statement and theory stand in the same languages, with the same displayed formulas."""
    for language in problem.statements.keys() ^ problem.theories.keys():
        have, lack = ("statement", "theory") if language in problem.statements else ("theory", "statement")
        yield Finding(
            check="texts", file=f"{lack}.{language}.md", what=f"there is a {have} in {language!r}, but no {lack}",
            mend="write it, or take the other out",
        )  # fmt: skip
    for name, by_language in (("statement", problem.statements), ("theory", problem.theories)):
        counts = {language: len(DISPLAYED.findall(CODE.sub("", text))) for language, text in by_language.items()}
        for language, count in counts.items():
            if count != counts[problem.language]:
                yield Finding(
                    check="texts", file=f"{name}.{language}.md",
                    what=f"{count} displayed formulas, {counts[problem.language]} in the package's own language",
                    mend="translate them all",
                )  # fmt: skip
