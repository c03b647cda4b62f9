"""`python -m bench.page`: how fast the page is, in this machine's Chromium against what `grader serve` starts.

First contentful paint, cumulative layout shift and the bytes of a first load (nothing cached), the longest task while a
solution is typed, and the time from the key press to the verdict, of GRADER_BENCH_LOADS (5) loads.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from bench.service import served
from grader.problem.folder import problems_root

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
WATCH = """
window.seen = {shift: 0, longest: 0};
const watch = (type, take) =>
    new PerformanceObserver(list => list.getEntries().forEach(take)).observe({type, buffered: true});
watch('layout-shift', entry => { if (!entry.hadRecentInput) seen.shift += entry.value; });
watch('longtask', entry => { seen.longest = Math.max(seen.longest, entry.duration); });
"""
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
BYTES = """performance.getEntriesByType('resource').filter(({name}) => !/woff2|ruff/.test(name))
    .reduce((sum, {encodedBodySize}) => sum + encodedBodySize, 0)"""
PATIENCE_MS = 120_000
FIGURES = {
    "paint_ms": ("first contentful paint", "ms (goal: under 1000)"),
    "shift": ("cumulative layout shift", "(goal: under 0.1)"),
    "kilobytes": ("first load but fonts and Ruff", "KB (goal: under 280, with the problem's texts)"),
    "longest_ms": ("longest task while typing", "ms (goal: at most 200)"),
    "verdict_ms": ("key press to verdict, 48 cases", "ms"),
}


def main() -> None:
    """Measures and prints everything."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        raise SystemExit("bench.page: no Chromium on the path")
    with tempfile.TemporaryDirectory(prefix="grader-bench-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        os.environ["GRADER_DATA_DIR"] = name
        with (
            served(folder) as (address, _),
            sync_playwright() as playwright,
            playwright.chromium.launch(executable_path=program, args=FLAGS) as browser,
        ):
            loads = [one_load(browser, address) for _ in range(int(os.environ.get("GRADER_BENCH_LOADS", "5")))]
    for figure, (what, unit) in FIGURES.items():
        values = [load[figure] for load in loads]
        print(f"{what:<34}{statistics.median(values):8.3g} (worst {max(values):.3g}) {unit}")


def one_load(browser: Browser, address: str) -> dict[str, float]:
    """A browser that has nothing cached opens situ_glu, types a solution and submits it."""
    context = browser.new_context(locale="en-US", viewport={"width": 1440, "height": 900})
    context.add_init_script(WATCH)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(f"{address}/problems/situ_glu")
    page.wait_for_selector(".cm-content")
    page.wait_for_timeout(500)
    loaded = {
        "paint_ms": float(page.evaluate(PAINT)),
        "kilobytes": float(page.evaluate(BYTES)) / 1024,
        "shift": float(page.evaluate("seen.shift")),
    }
    page.evaluate("seen.longest = 0")
    verdict_ms = typed(page)
    longest_ms = float(page.evaluate("seen.longest"))
    context.close()
    return {**loaded, "longest_ms": longest_ms, "verdict_ms": verdict_ms}


def typed(page: Page) -> float:
    """Types the textbook solution key by key, as fast as nobody does; milliseconds until its verdict."""
    source = problems_root() / "situ_glu" / "submissions" / "accepted" / "textbook.py"
    page.click(".cm-content")
    page.keyboard.press("Control+a")
    for line in source.read_text().splitlines():
        page.keyboard.type(line.strip(), delay=20)
        page.keyboard.press("Enter")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(source.read_text())
    page.wait_for_timeout(600)
    began = time.perf_counter()
    page.keyboard.press("Control+Shift+Enter")
    page.wait_for_selector(".verdict.good")
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    main()
