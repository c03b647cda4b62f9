"""A service that asks who calls, and a problem package that tries to be more than text."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from grader.problem.folder import problems_root
from tests.service.conftest import own_folder
from tests.service.running import Running
from tests.service.test_database import grader
from tests.web.conftest import Open

ATTACK = """
# Soft <b>cap</b> <img src=x onerror="document.title=1">

<script>document.title = 2</script>

[a link](javascript:document.title=3) and $\\href{javascript:document.title=4}{x}$ and $\\unknown{<i>5</i>}$
"""
SOFT_CAP = "import torch\n\ndef soft_cap(x, cap):\n    return cap * torch.tanh(x / cap)\n"


@pytest.fixture(scope="module")
def guarded(running: Running) -> Iterator[Running]:
    """Another API process on the same database: it wants a key, and its one problem has a hostile statement."""
    with own_folder() as folder:
        shutil.copytree(problems_root() / "soft_cap", folder / "soft_cap")
        statement = folder / "soft_cap" / "statement.md"
        statement.write_text(ATTACK + statement.read_text())
        extra = {"GRADER_AUTH": "on", "GRADER_PROBLEMS": str(folder)}
        other = Running(url=running.url, data_dir=running.data_dir, extra=extra)
        other.start_api("guarded")
        yield other
        other.stop()


def test_a_statement_is_text(learner: Open, guarded: Running) -> None:
    """HTML in a statement is shown, not obeyed; links and formulas run nothing."""
    someone = learner(guarded.address)
    someone.open_problem("soft_cap")
    text = someone.page.locator(".prose").first
    expect(text).to_contain_text('<img src=x onerror="document.title=1">')
    expect(text).to_contain_text("<script>document.title = 2</script>")
    expect(text.locator("img, script, b, i")).to_have_count(0)
    assert someone.page.locator("a[href^=javascript]").count() == 0
    assert someone.page.title() == "Soft cap · grader"


def test_a_key_is_asked_for(learner: Open, guarded: Running, tmp_path: Path) -> None:
    """Reading needs none; sending does, and whoever has one goes on where they were."""
    someone = learner(guarded.address)
    someone.open_problem("soft_cap")
    someone.write(SOFT_CAP)
    someone.submit()
    someone.sees("This service asks who you are")
    given = {"GRADER_DATABASE_URL": guarded.url, "GRADER_DATA_DIR": str(guarded.data_dir)}
    key = grader("key", "create", "a test's", **given).stdout.strip()
    someone.page.get_by_label("API key or token").fill(key)
    someone.page.get_by_role("button", name="Use it in this tab").click()
    someone.sees("It is sent from now on.")
    someone.submit()
    someone.sees("Accepted")
    someone.page.reload()
    someone.sees("Accepted")
