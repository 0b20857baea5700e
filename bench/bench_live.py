"""What the live display and ``page --follow`` cost what is measured: wake-up latency with and
without, thirty runs of a second each, three of each kind in turn, in random order. The host drifts:
rounds are paired. Takes five minutes, needs SCHED_FIFO. Chromium polls the watched page as often as
it does for a person.
"""

from __future__ import annotations

import os
import pty
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from common import report
from scipy.stats import wilcoxon

from deadbeat.store.latency import LatencyStore

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from helpers.chromium import chromium

RUNS, BLOCK, EARLY = int(sys.argv[1]) if len(sys.argv) > 1 else 30, 3, 4
DEADBEAT = Path(sys.executable).with_name("deadbeat")
MEASURE = ("latency", "--loads", "idle", "--duration", "1s", "--engine", "prober", "--no-figures")


def drained(master: int) -> None:
    with suppress(OSError):  # the other end is closed
        while os.read(master, 65536):
            pass


Figures = tuple[float, float, float]


def measured(folder: str, name: str, how: str) -> list[Figures]:
    """Median, 99th percentile and maximum of every run, in us."""
    # A watched folder has to be there first: the runs until the browser shows it are left out.
    early = EARLY if how == "watch" else 0
    words = (DEADBEAT, *MEASURE, "--repeats", str(BLOCK + early), "--runs", folder, "--name", name)
    if how == "live":
        master, slave = pty.openpty()
        reader = threading.Thread(target=drained, args=(master,))
        reader.start()
        subprocess.run(words, check=True, stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        reader.join()
        os.close(master)
    else:
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while how == "watch" and not Path(folder, name, "runs").is_dir():
            time.sleep(0.05)
        with watched(folder, name) if how == "watch" else nullcontext():
            assert process.wait() == 0
    found = []
    runs = sorted(LatencyStore.open(Path(folder, name)).runs(), key=lambda run: run.key)
    for run in runs[early:]:
        tops = [cpu.honest for cpu in run.cpus]
        shares = [max(each.quantile(ppm) or 0 for each in tops) for ppm in (500_000, 990_000)]
        top = max(each.max_ns or 0 for each in tops)
        found.append((shares[0] / 1000, shares[1] / 1000, top / 1000))
    return found


@contextmanager
def watched(folder: str, name: str) -> Iterator[None]:
    """A browser shows the page of ``name``, which polls."""
    server = subprocess.Popen(
        (DEADBEAT, "watch", name, "--runs", folder), stderr=subprocess.PIPE, text=True
    )
    assert server.stderr is not None
    try:
        address = re.search(r"http://\S+", server.stderr.readline())
        assert address
        with chromium(Path(folder, "browser")) as driver:
            driver.get(address[0])
            yield
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        measured(folder, "first", "plain")
        found: dict[str, list[list[Figures]]] = {"plain": [], "live": [], "watch": []}
        for block in range(RUNS // BLOCK):
            for how in random.Random(block).sample(sorted(found), 3):
                found[how].append(measured(folder, f"{how}-{block}", how))
    for how in ("live", "watch"):
        for place, what in enumerate(("median", "99 %", "maximum")):
            own, plain = (
                [statistics.median(run[place] for run in block) for block in found[name]]
                for name in (how, "plain")
            )
            report(
                f"{how}: {what} of wake-up latency, with / without",
                "none visible (p >= 0.05)",
                statistics.median(a / b for a, b in zip(own, plain, strict=True)),
                "ratio",
                {
                    "p": float(wilcoxon(own, plain).pvalue),
                    "runs": RUNS,
                    "with_us": statistics.median(own),
                    "without_us": statistics.median(plain),
                },
            )


if __name__ == "__main__":
    main()
