"""Which thread misses first with more instances of a program: predicted from one, and measured."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from common import report

SOURCE = Path(__file__).parents[1] / "tests" / "programs" / "tries" / "more.c"
SETS, INSTANCES, ROUNDS = ("rates", "shared", "stages"), (1, 2), 2
#: Fewer jobs are late by the 5 % of each second that the kernel keeps for ordinary threads.
SHARE = 0.1


def main() -> None:
    """``bench_more.py``"""
    with TemporaryDirectory() as name:
        folder, program = Path(name), Path(name) / "more"
        subprocess.run(("cc", "-g", "-O2", "-pthread", SOURCE, "-o", program), check=True)
        rows, off = [], []
        for each in SETS:
            one = f"{program} 3 blind {each}"
            _deadbeat(folder, "run", "--name", each, "--", *one.split())
            said = _deadbeat(folder, "predict", each, "--scale", "instances=1..2")
            predicted = {
                found["instances"]: {
                    thread: part["misses"] / max(part["jobs"], 1)
                    for thread, part in found["threads"].items()
                }
                for found in said["variants"]
            }
            use = {found["instances"]: found["utilisation"] for found in said["variants"]}
            measured, used = _measured(folder, one, each)
            first = _first(predicted), _first(measured)
            order = [sorted(side, key=side.__getitem__) for side in first]
            counts = [min(side.values(), default=max(INSTANCES)) for side in first]
            off.append(100 * abs(use[counts[0]] - used[counts[1]]))
            rows.append({"set": each, "predicted": first[0], "measured": first[1],
                         "U_predicted": round(use[counts[0]], 3),
                         "U_measured": round(used[counts[1]], 3)})  # fmt: skip
        right = sum(row["predicted"] == row["measured"] for row in rows)
        report("order of threads in which they miss", "all", 100 * right / len(rows), "%",
               {"rows": rows, "orders": order})  # fmt: skip
        report("utilisation at the first miss, off by", "<= 10 points", max(off), "points")


def _deadbeat(folder: Path, *words: str) -> dict[str, Any]:
    more = ("--no-figures", "--fresh") if words[0] == "run" else ()
    argv = (sys.executable, "-m", "deadbeat", words[0], "--json", *more, *words[1:])
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode not in (0, 1):
        print(done.stderr[-300:], file=sys.stderr)
        return {"tasks": []}
    found: dict[str, Any] = json.loads(done.stdout)["results"]
    return found


def _first(shares: Mapping[int, Mapping[str, float]]) -> dict[str, int]:
    """Thread -> the number of instances from which on it misses; by its name in the program."""
    found: dict[str, int] = {}
    for number, threads in sorted(shares.items()):
        for name, share in threads.items():
            if share > SHARE:
                found.setdefault(name.partition("#")[0].partition(" of ")[0], number)
    return found


def _measured(
    folder: Path, one: str, name: str
) -> tuple[dict[int, dict[str, float]], dict[int, float]]:
    """Instances -> share of misses by thread, and utilisation: medians of a few rounds."""
    shares: dict[int, dict[str, float]] = {}
    use: dict[int, float] = {}
    for number in INSTANCES:
        script = " ".join([f"{one} &"] * number) + " wait"
        seen, loads = defaultdict(list), []
        for turn in range(ROUNDS):
            found = _deadbeat(folder, "run", "--name", f"{name}-{number}-{turn}", "--", "sh", "-c",
                              script)  # fmt: skip
            if not (tasks := [task for task in found["tasks"] if task["jobs"]]):
                continue
            for task in tasks:
                seen[task["name"]].append((task["misses"] or 0) / task["jobs"])
            spent = sum(task["charged_mean_ns"] * task["jobs"] for task in tasks)
            loads.append(spent / max(task["jobs"] * (task["period_ns"] or 0) for task in tasks))
        if loads:
            shares[number] = {thread: median(each) for thread, each in seen.items()}
            use[number] = median(loads)
    return shares, use


if __name__ == "__main__":
    main()
