"""What goes wrong: errors in the code, hostile output, a lost connection, a queue, another tab."""

from __future__ import annotations

import httpx
from playwright.sync_api import expect

from tests.service.conftest import BROKEN, ENDLESS, RIGHT
from tests.service.running import Running, wait_until
from tests.web.conftest import Open

UNDEFINED = RIGHT.replace("torch.sigmoid(gate)", "torch.sigmoid(gates)")
HOSTILE = (
    """import sys
print('<img src=x onerror="document.title=1"><script>document.title = 2</script>')
print('\\x1b[31mred\\x1b[0m \\u202e\\u2066reversed')
print('x' * 300_000)
print('<b>to stderr</b>', file=sys.stderr)
"""
    + RIGHT.replace("return ", "raise ValueError('<i>message</i> \\u202e')\n    return ")
)


def test_an_error_stands_at_its_line(learner: Open) -> None:
    """While typing by Ruff; after a run by what was raised, with a way to the line."""
    someone = learner()
    page = someone.page
    someone.open_problem()
    someone.write(UNDEFINED)
    expect(page.locator(".cm-lintRange-error")).to_have_text("gates")
    someone.run()
    someone.sees("NameError: name 'gates' is not defined")
    expect(page.locator(".cm-lintRange-error").first).to_contain_text("return")
    page.get_by_role("button", name="Line 5 of your code").click()
    expect(page.locator(".cm-activeLine")).to_contain_text("gates")
    someone.write(BROKEN)
    someone.run()
    someone.sees("Could not be loaded")
    expect(page.locator(".cm-lint-marker-error").first).to_be_visible()


def test_hostile_output_is_text(learner: Open) -> None:
    """HTML, escapes, turned text, a lot of it: shown as text, cut, and nothing of it runs."""
    someone = learner()
    someone.open_problem()
    someone.write(HOSTILE)
    someone.run()
    someone.sees("Runtime error")
    someone.sees('<img src=x onerror="document.title=1">')
    someone.sees("<b>to stderr</b>")
    someone.sees("ValueError: <i>message</i>")
    someone.sees("more characters")
    expect(someone.results.locator("img, script, b, i")).to_have_count(0)
    assert someone.page.title() == "SiTU-GLU · grader"


def test_a_lost_connection_loses_nothing(learner: Open, running: Running) -> None:
    """What is sent without a connection arrives later, once; what runs meanwhile is followed to its end."""
    someone = learner()
    page = someone.page
    someone.open_problem()
    someone.write(RIGHT)
    before = submissions(running)
    page.context.set_offline(True)
    someone.submit()
    someone.reads("no connection to the service; it goes on by itself")
    page.context.set_offline(False)
    someone.sees("Accepted")
    assert submissions(running) == before + 1


def test_a_service_that_restarts_loses_nothing(learner: Open, running: Running) -> None:
    """The event stream comes back, by its new address, and brings the verdict."""
    someone = learner()
    someone.open_problem()
    someone.write("import time\ntime.sleep(2)\n" + RIGHT)
    someone.submit()
    someone.sees("Running")
    api = running.processes.pop("api")
    api.terminate()
    api.wait(30)
    someone.reads("no connection to the service")
    running.start_api()
    someone.sees("Accepted")


def submissions(running: Running) -> int:
    """How many there are in all, up to 100."""
    return len(httpx.get(f"{running.address}/api/v1/submissions?limit=100").json()["items"])


def test_a_reload_goes_on(learner: Open, running: Running) -> None:
    """A page that is left while code runs finds it again; cancelling ends it."""
    someone = learner()
    page = someone.page
    someone.open_problem()
    someone.write(ENDLESS)
    someone.submit()
    someone.sees("Running")
    page.reload()
    someone.sees("Running")
    page.get_by_role("button", name="Cancel").click()
    someone.sees("Cancelled")
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)


def test_the_place_in_the_queue(learner: Open, running: Running) -> None:
    """Said while others come first."""
    body = {"problem": "situ_glu", "source": ENDLESS}
    api = f"{running.address}/api/v1/submissions"
    others = [httpx.post(api, json=body).json()["id"] for _ in range(6)]
    try:
        wait_until(lambda: httpx.get(f"{api}/{others[0]}").json()["status"] == "running", "one runs")
        someone = learner()
        someone.open_problem()
        someone.write(RIGHT)
        someone.submit()
        someone.reads("In the queue, ")
    finally:
        for one in others:
            httpx.delete(f"{api}/{one}")
    someone.sees("Accepted")


def test_two_tabs(learner: Open) -> None:
    """A tab follows the other as long as both had the same text; where they differ the learner chooses."""
    first = learner()
    first.open_problem("soft_cap")
    second = type(first)(first.page.context.new_page(), first.address)
    second.open_problem("soft_cap")
    first.write("one = 1")
    expect(second.editor).to_have_text("one = 1")
    first.page.evaluate("localStorage.setItem('grader:draft:soft_cap', JSON.stringify('between = 0'))")
    expect(second.editor).to_have_text("between = 0")
    second.write("two = 2")
    expect(first.editor).to_have_text("one = 1")
    first.reads("This code was changed in another tab.")
    first.page.get_by_role("button", name="Take that one").click()
    expect(first.editor).to_have_text("two = 2")
