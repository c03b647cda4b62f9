"""For everybody: the keyboard alone, a screen reader's rules, a phone's width, light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.service.conftest import RIGHT
from tests.web.conftest import Open
from tests.web.test_way import SHARED_CAP

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
PHONE = {"width": 390, "height": 844}
LOOKS = [
    pytest.param({"color_scheme": "light"}, (), id="light"),
    pytest.param({"color_scheme": "dark"}, ("color-contrast",), id="dark"),
    pytest.param({"viewport": PHONE}, (), id="phone"),
]


def findings(page: Page, *only: str) -> list[str]:
    """What axe finds wrong, of whatever weight; by some of its rules only, or by all."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE.read_text())
    rules = {"empty-table-header": {"enabled": False}}  # a header that is a formula: axe does not read MathML
    options = {"runOnly": list(only)} if only else {"rules": rules}
    found: list[dict[str, Any]] = page.evaluate("options => axe.run(options).then(it => it.violations)", options)
    return [f"{one['id']}: {node['html'][:120]}: {node['failureSummary']}" for one in found for node in one["nodes"]]


@pytest.mark.parametrize(("look", "rules"), LOOKS)
def test_axe_finds_nothing(learner: Open, look: dict[str, object], rules: tuple[str, ...]) -> None:
    """On every page and in every tab, with results and without."""
    someone = learner(**look)
    page = someone.page
    someone.open()
    expect(page.locator(".problems li")).to_have_count(5)
    assert findings(page, *rules) == []
    someone.open("problems/situ_glu#theory")
    expect(page.locator(".prose").first).to_be_visible()
    assert findings(page, *rules) == []
    narrow = page.get_by_role("tab", name="Code").count() == 1
    if narrow:
        page.get_by_role("tab", name="Code").click()
    someone.write(SHARED_CAP)
    someone.run()
    someone.sees("One cap for both branches")
    someone.results.get_by_text("Inputs", exact=True).click()
    assert findings(page, *rules) == []
    someone.write("def situ_glu(")
    someone.submit()
    someone.sees("Could not be loaded")
    assert findings(page, *rules) == []
    for name in ("Problem", "Hints", "Submissions"):
        page.get_by_role("tab", name=name).click()
        assert findings(page, *rules) == []


def test_keyboard_alone(learner: Open) -> None:
    """Catalogue, tabs, bars, editor and out of it again, run, cases, elements: no mouse."""
    someone = learner()
    page = someone.page
    press = page.keyboard.press
    someone.open()
    expect(page.locator(".problems li")).to_have_count(5)
    press("Tab")
    press("Tab")
    page.keyboard.type("glu situ kimi experts")
    reach(page, ".problems a")
    press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("SiTU-GLU")
    page.wait_for_selector(".cm-content")
    reach(page, "#tab-problem")
    press("ArrowRight")
    expect(page.get_by_role("heading", level=1)).to_have_text("SiTU-GLU: theory")
    reach(page, "[role=separator][aria-orientation=vertical]")
    before = page.locator(".reading").bounding_box()
    press("ArrowRight")
    after = page.locator(".reading").bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] > before["width"]
    reach(page, ".cm-content")
    press("Control+a")
    page.keyboard.insert_text(SHARED_CAP)
    press("Control+Enter")
    someone.sees("One cap for both branches")
    press("Escape")
    expect(page.get_by_role("button", name="Run")).to_be_focused()
    reach(page, ".tile")
    press("ArrowRight")
    expect(page.locator(".case h3")).to_contain_text("same-memory-new-values")
    reach(page, "td")
    press("ArrowDown")
    expect(page.locator(".readout")).to_contain_text("[1, 0]")


def reach(page: Page, selector: str) -> None:
    """Goes on with the Tab key until something has the focus."""
    for _ in range(60):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"the Tab key does not lead to {selector}")


def test_tab_indents_and_escape_leaves(learner: Open) -> None:
    """The editor takes the Tab key only until Escape is pressed."""
    someone = learner()
    someone.open_problem()
    someone.write("def f():")
    someone.page.keyboard.press("Enter")
    someone.page.keyboard.type("return 1")
    expect(someone.editor.locator(".cm-line").last).to_have_text("    return 1")
    someone.page.keyboard.press("Escape")
    expect(someone.editor).not_to_be_focused()


def test_a_phone_is_wide_enough(learner: Open) -> None:
    """Nothing but tables, formulas and code scrolls sideways; buttons stay in reach."""
    someone = learner(viewport=PHONE, has_touch=True)
    page = someone.page
    someone.open("problems/situ_glu")
    page.get_by_role("tab", name="Code").tap()
    someone.write(SHARED_CAP)
    page.get_by_role("button", name="Submit").tap()
    someone.sees("One cap for both branches")
    expect(page.get_by_role("button", name="Submit")).to_be_in_viewport()
    for name in ("Code", "Problem", "Theory", "Hints", "Submissions"):
        page.get_by_role("tab", name=name).tap()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    page.get_by_role("tab", name="Code").tap()
    expect(someone.editor).to_contain_text("gate_cap * torch.tanh(up / gate_cap)")


def test_completion(learner: Open) -> None:
    """Names of torch after a dot, the problem's arguments with their shapes."""
    someone = learner()
    page = someone.page
    offered = page.locator(".cm-tooltip-autocomplete li")
    someone.open_problem()
    someone.write(RIGHT + "    torch.sig")
    page.keyboard.type("m")
    expect(offered.first).to_have_text("sigmoid")
    page.keyboard.press("Enter")
    expect(someone.editor).to_contain_text("torch.sigmoid")
    page.keyboard.press("Enter")
    page.keyboard.type("gate_p")
    expect(offered.first).to_contain_text("[d_ff, d_in]")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+f")
    expect(page.get_by_role("textbox", name="Find")).to_be_focused()
