"""How often the kind of arrival is right: deadbeat beside LiME, on the same runs.

``bench_lime.py [LIME [PROGRAM ...]]``: LIME is the program of github.com/LiME-org/lime-rtw. It
gives models for each kind of wait and leaves the choice to the reader, so it is right here where
any of them is, whatever its jitter: a period within 0.1 %; for the other kinds a least separation
within 3 %, where the program has one, for as many jobs as there were (within 1 %).
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common import asked, not_measured, report
from helpers.programs import PROGRAMS, command_of, truth_in

SECONDS = "5"
_PERIODIC = ("periodic", "chained")  # a chained thread of a periodic one: LiME knows no chains
Row = Mapping[str, Any]


def main() -> None:
    quick, words = asked()
    lime, *names = words or [shutil.which("lime-rtw") or ""]
    if not lime:
        not_measured("kind of arrival right", "no lime-rtw here, and none is named")
        return
    right: dict[str, list[bool]] = {"deadbeat": [], "LiME": []}
    off = []
    with TemporaryDirectory() as folder:
        for name in names or list(PROGRAMS)[: 2 if quick else None]:
            for who, thread, was_right, found in _judged(Path(lime), name, Path(folder)):
                right[who].append(was_right)
                off += [] if was_right else [f"{who}: {name}/{thread} {found}"]
    for who, each in right.items():
        share = 100 * sum(each) / len(each)
        report(f"kind of arrival right: {who}", "more than LiME", share, "%", {"n": len(each)})
    report("threads that one of them has wrong", "-", len(off), "", {"off": off})


def _judged(lime: Path, name: str, folder: Path) -> Iterator[tuple[str, str, bool, str]]:
    models = folder / f"lime-{name}"
    command = (*command_of(PROGRAMS[name], folder), SECONDS)
    inner = (str(lime.resolve()), "extract", "--best-effort", "-o", str(models), "--", *command)
    argv = (sys.executable, "-m", "deadbeat", "run", "--json", "--duration", "60s", "--", *inner)
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, cwd=folder, stdin=subprocess.DEVNULL
    )
    try:
        truth, found = truth_in(done.stderr), json.loads(done.stdout)["results"]
    except (IndexError, json.JSONDecodeError):
        sys.exit(f"{name}: {done.stderr[-500:]} {done.stdout[-500:]}")
    mine = {task["tid"]: task for task in found["tasks"]}
    for task in truth["tasks"]:
        derived = mine.get(task["tid"], {"kind": "missing"})
        kind = derived["kind"]
        unsure = f" (unsure: {derived['unsure']})" if derived.get("unsure") else ""
        right = kind in (task["kind"], task.get("also"))
        yield "deadbeat", task["name"], right, f"{kind}{unsure}, is {task['kind']}"
        theirs = [*_separators(models, task["tid"])]
        said = "; ".join(
            f"{each['count']} by {each['separator']['type']}, period {_period(each)}"
            for each in theirs
        )
        right = any(_right(each, task) for each in theirs)
        yield "LiME", task["name"], right, f"{said}; is {task['kind']} {task['period_ns']}"


def _separators(models: Path, tid: int) -> Iterator[Row]:
    for path in models.glob(f"{tid}-*.models.json"):
        yield from json.loads(path.read_text())["by_job_separator"]


def _models(separator: Row, name: str) -> Sequence[Row]:
    return [each for each in separator["arrival_models"] if each["model"] == name]


def _period(separator: Row) -> int | None:
    return next((each["period"] for each in _models(separator, "periodic")), None)


def _right(separator: Row, task: Row) -> bool:
    period = _period(separator)
    if task["kind"] in _PERIODIC and task["period_ns"]:
        return period is not None and abs(period / task["period_ns"] - 1) <= 0.001
    least = [each["mit"] for each in _models(separator, "sporadic")]
    near = abs(separator["count"] - task["jobs"]) <= max(0.01 * task["jobs"], 2)
    gap = task["min_gap_ns"]
    return near and bool(least) and (not gap or abs(least[0] / gap - 1) <= 0.03)


if __name__ == "__main__":
    main()
