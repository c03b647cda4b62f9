"""From a first wrong try to an accepted one, with only what the page says."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.service.conftest import RIGHT
from tests.web.conftest import Open

SHARED_CAP = RIGHT.replace("up_cap * torch.tanh(up / up_cap)", "gate_cap * torch.tanh(up / gate_cap)")


def test_a_beginner_solves_it(learner: Open) -> None:
    """Catalogue, problem, a wrong run with its hint, the mended code, accepted; all of it is there after a reload."""
    someone = learner()
    page = someone.page
    someone.open()
    page.get_by_role("link", name="SiTU-GLU").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("SiTU-GLU")
    someone.write(SHARED_CAP)
    page.get_by_role("button", name="Run").click()
    someone.sees("Wrong answer")
    someone.sees("One cap for both branches")
    someone.sees("Does every argument have a say?")
    expect(page.locator("td.worst")).to_have_count(1)
    expect(page.locator(".readout")).to_contain_text("the worst")
    someone.write(RIGHT)
    someone.sees("You have changed your code since.")
    page.get_by_role("button", name="Submit").click()
    someone.sees("Accepted")
    expect(page.locator(".tile.bad")).to_have_count(0)

    page.reload()
    someone.sees("Accepted")
    expect(someone.editor).to_contain_text("up_cap * torch.tanh(up / up_cap)")
    page.get_by_role("tab", name="Submissions").click()
    expect(page.locator(".submissions li")).to_have_count(2)
    page.get_by_role("button", name="Wrong answer").click()
    someone.sees("One cap for both branches")
    page.get_by_role("button", name="Edit this code").last.click()
    expect(someone.editor).to_contain_text("gate_cap * torch.tanh(up / gate_cap)")
    page.get_by_role("button", name="Reset").click()
    expect(someone.editor).to_contain_text("pass")
    page.get_by_role("link", name="all problems").click()
    expect(page.get_by_role("link", name="SiTU-GLU").get_by_role("img")).to_have_attribute("aria-label", "solved")


def test_hints_come_one_at_a_time(learner: Open) -> None:
    """Each on demand; those that were seen are there the next time."""
    someone = learner()
    someone.open("problems/situ_glu#hints")
    hints = someone.page.locator(".hints li")
    expect(hints).to_have_count(0)
    someone.page.get_by_role("button", name="Show hint 1 of 3").click()
    someone.page.get_by_role("button", name="Show hint 2 of 3").click()
    expect(hints).to_have_count(2)
    someone.page.reload()
    expect(hints).to_have_count(2)
    expect(someone.page.get_by_role("button", name="Show hint 3 of 3")).to_be_visible()


def test_languages(learner: Open) -> None:
    """The browser's language at first, then what was chosen; the text says which language it is in."""
    someone = learner(locale="fr-FR")
    someone.open("problems/situ_glu")
    text = someone.page.locator(".prose").first
    expect(text).to_have_attribute("lang", "fr")
    expect(text).to_contain_text("Écrivez")
    someone.page.get_by_role("button", name="English").click()
    expect(text).to_contain_text("Write the activation")
    someone.page.reload()
    expect(text).to_have_attribute("lang", "en")


@pytest.mark.parametrize("slug", ["dense_ffn", "rms_norm", "situ_and_mul", "soft_cap"])
def test_every_problem_can_be_read_and_run(learner: Open, slug: str) -> None:
    """Formulas and tables are laid out, and the starter gets a verdict."""
    someone = learner()
    someone.open_problem(slug)
    expect(someone.page.locator(".katex-error")).to_have_count(0)
    someone.run()
    expect(someone.page.locator(".verdict.bad")).to_be_visible()
    someone.results.get_by_text("Inputs", exact=True).click()
    expect(someone.page.locator(".input").first).to_be_visible()
