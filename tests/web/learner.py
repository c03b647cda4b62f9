"""What a learner does in the page, in the learner's words."""

from __future__ import annotations

from dataclasses import dataclass

from playwright.sync_api import Locator, Page, expect


@dataclass(frozen=True)
class Learner:
    """Somebody with a browser open."""

    page: Page
    address: str

    def open(self, path: str = "") -> None:
        """Goes to an address of the page's own."""
        self.page.goto(f"{self.address}/{path}")

    def open_problem(self, slug: str = "situ_glu") -> None:
        """A problem's page, with the editor there."""
        self.open(f"problems/{slug}")
        self.page.wait_for_selector(".cm-content")

    @property
    def editor(self) -> Locator:
        """Where code is written."""
        return self.page.locator(".cm-content")

    @property
    def results(self) -> Locator:
        """What came of a try."""
        return self.page.get_by_role("region", name="Results")

    def write(self, source: str) -> None:
        """Replaces all code, with the keyboard."""
        self.editor.focus()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(source)
        expect(self.editor).to_contain_text(source.splitlines()[-1].strip()[:30])

    def run(self) -> None:
        """The public cases."""
        self.page.keyboard.press("Control+Enter")

    def submit(self) -> None:
        """All cases."""
        self.page.keyboard.press("Control+Shift+Enter")

    def sees(self, text: str) -> None:
        """Waits until the results say something."""
        expect(self.results).to_contain_text(text)

    def reads(self, text: str) -> None:
        """Waits until the page says something, anywhere."""
        expect(self.page.locator("#root")).to_contain_text(text)
