"""A Chromium for all tests of the page, and the service that they use."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from app.api.page import BUNDLE
from tests.service.conftest import cases_dir, cluster, running
from tests.service.running import Running, wait_until
from tests.web.learner import Learner

__all__ = ["cases_dir", "cluster", "running"]  # fixtures of the service's own tests

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
# no sandbox: tests may run as root; the others: no calls to anywhere but the service
WAIT_MS = 20_000
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip

Open = Callable[..., Learner]


@pytest.fixture(scope="session")
def program() -> str:
    """The machine's own Chromium; skips, before a service is started, where there is none, or no page to show in it."""
    found = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"none of {', '.join(PROGRAMS)} is on the path")
    if not (BUNDLE / "index.html").is_file() and not os.environ.get("CI"):
        pytest.skip("the page is not built: `make page` says why")
    return found


@pytest.fixture(scope="package")
def chromium(program: str) -> Iterator[Browser]:
    """One browser for all; it ends with this folder's tests, since Playwright's loop is in the way of others."""
    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=program, args=FLAGS) as browser:
        yield browser


@pytest.fixture(scope="package")
def prepared(running: Running) -> Running:
    """The service, once it has graded something of every problem: a first start makes their cases meanwhile."""
    api = f"{running.address}/api/v1"
    slugs = [problem["slug"] for problem in httpx.get(f"{api}/problems").json()]
    sent = [
        httpx.post(f"{api}/submissions", json={"problem": slug, "source": "", "mode": "run"}).json() for slug in slugs
    ]

    def all_ended() -> bool:
        records = [httpx.get(f"{api}/submissions/{one['id']}").json() for one in sent]
        return all(record["status"] == "finished" for record in records)

    wait_until(all_ended, "every problem's cases are there", 240)
    return running


@pytest.fixture
def learner(chromium: Browser, prepared: Running) -> Iterator[Open]:
    """Opens a browser of a learner's own at the service; afterwards nothing may have gone wrong in any of its pages."""
    with ExitStack() as opened:

        def open_browser(address: str = prepared.address, **options: object) -> Learner:
            context = opened.enter_context(new_context(chromium, options))
            wrong: list[str] = []
            context.on("page", lambda page: watch(page, wrong))
            opened.callback(lambda: check(wrong))
            return Learner(context.new_page(), address)

        yield open_browser


def new_context(browser: Browser, options: dict[str, object]) -> BrowserContext:
    """English and without animations unless a test says otherwise."""
    context = browser.new_context(**{"locale": "en-US", "reduced_motion": "reduce", **options})  # type: ignore[arg-type]
    context.set_default_timeout(WAIT_MS)
    return context


def watch(page: Page, wrong: list[str]) -> None:
    """Keeps exceptions, and errors of the console: violations of the Content-Security-Policy are among them."""
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)


def check(wrong: list[str]) -> None:
    """A refused or broken connection is what some tests are about."""
    assert [text for text in wrong if not text.startswith("Failed to load resource")] == []
