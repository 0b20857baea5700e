"""Weight of a page of every kind, and how long Chromium takes from opening it to the last figure.
Made-up results; needs chromium and chromedriver. Opens each page five times."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from common import report

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from helpers.chromium import chromium, resize

TIMES = 5
COMMANDS = {
    "profile": ("profile", "--quick"),
    "profile with surfaces": ("profile", "--sets", "2"),
    "stress": ("stress", "--quick"),
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
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with chromium(place / "browser") as driver:
            driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
            driver.set_script_timeout(60)
            resize(driver, 1280, 800)
            for kind, words in COMMANDS.items():
                command = (
                    *words,
                    "--simulated",
                    "--no-figures",
                    "--runs",
                    folder,
                    "--name",
                    kind.replace(" ", "-"),
                )
                subprocess.run(
                    (Path(sys.executable).with_name("deadbeat"), *command),
                    check=True,
                    capture_output=True,
                    env={**os.environ, "PYTHONWARNINGS": "ignore"},
                )
                page = place / kind.replace(" ", "-") / "report.html"
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
