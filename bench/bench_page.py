"""Weight of a page of every kind, and how long Chromium takes from opening it to the last figure.
Made-up results; needs chromium and chromedriver. Opens each page five times."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from common import asked, deadbeat, report
from helpers.chromium import chromium, resize

TIMES = 5
COMMANDS = {
    "contention": ("contention", "--quick"),
    "contention with surfaces": ("contention", "--sets", "2"),
    "random sets": ("contention", "--random", "--quick"),
    "breakdown": ("breakdown", "--quick"),
    "latency": ("latency", "--quick"),
    "load": ("load", "--quick"),
    "run": ("run", "control", "--repeats", "5"),
}
#: When the last figure was drawn, in ms after the page was asked for.
WATCH = """
new MutationObserver(() => {
  if (document.documentElement.dataset.charts === "drawn") window.drawnAt ??= performance.now();
}).observe(document, {attributes: true, subtree: true, attributeFilter: ["data-charts"]});
"""


def main() -> None:
    quick, _ = asked()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with chromium(place / "browser") as driver:
            driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
            driver.set_script_timeout(60)
            resize(driver, 1280, 800)
            for kind, words in list(COMMANDS.items())[: 1 if quick else None]:
                name = kind.replace(" ", "-")
                where = ("--runs", folder, "--name", name)
                deadbeat(*words, "--simulated", "--no-figures", *where)
                page = place / name / "report.html"
                driver.get("about:blank")
                taken = []
                for _ in range(TIMES):
                    driver.get(page.as_uri())
                    taken.append(
                        driver.execute_async_script(
                            "const done = arguments[0];"
                            "const ask = () => window.drawnAt ? done(window.drawnAt)"
                            " : setTimeout(ask, 20); ask();"
                        )
                    )
                report(f"page of {kind}: weight", "<= 2 MB", page.stat().st_size / 1e6, "MB")
                report(
                    f"page of {kind}: opened to drawn",
                    "<= 1 s",
                    statistics.median(taken) / 1000,
                    "s",
                    {"smallest": min(taken) / 1000, "largest": max(taken) / 1000},
                )


if __name__ == "__main__":
    main()
