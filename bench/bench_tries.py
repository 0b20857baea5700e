"""How near predictions of changes are to what they did, and how often nothing is called a help."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common import asked, report, results

ROOT = Path(__file__).parents[1]
EXAMPLES, TRIES = ROOT / "examples" / "program", ROOT / "tests" / "programs" / "tries"
#: Program -> what is known of each change: 1: it helps, 0: it does nothing.
TRUTH: dict[Path, dict[str, int]] = {
    EXAMPLES / "inverted.c": {"inherit": 1, "pin": 1},
    EXAMPLES / "pipeline.c": {"rate-monotonic": 0, "idle": 0},
    EXAMPLES / "deadline.c": {"nothing": 0},
    TRIES / "ranks.c": {"rate-monotonic": 1, "pin": 1},
    TRIES / "crowded.c": {"rate-monotonic": 1, "pin": 1},
    TRIES / "nested.c": {"inherit": 1, "pin": 1},
}


def main() -> None:
    """``bench_tries.py [nothing TRIALS]``; without a word: the predictions."""
    quick, words = asked()
    with TemporaryDirectory() as name:
        folder = Path(name)
        if quick:
            _nothing(folder, 1)
            _effects(folder, dict(list(TRUTH.items())[:1]))
        elif words:
            _nothing(folder, int(words[1]))
        else:
            _effects(folder, TRUTH)


def _built(source: Path, folder: Path) -> str:
    program = folder / source.stem
    subprocess.run(("cc", "-g", "-O2", "-pthread", source, "-o", program), check=True)
    return str(program)


def _tried(folder: Path, words: Sequence[str]) -> list[dict[str, Any]]:
    where = ("--runs", str(folder / "runs"))
    found = results("run", "--yes", "--fresh", "--no-figures", *where, *words)
    tried: list[dict[str, Any]] = found["tried"]
    return tried


def _effects(folder: Path, truths: dict[Path, dict[str, int]]) -> None:
    right = total = 0
    rows = []
    for source, truth in truths.items():
        program = _built(source, folder)
        for each in _tried(folder, ("--try", ",".join(truth), "--", program, "2")):
            worst, foreseen = each["worst"], each["expected"]
            if each["turns"] == 0 or worst is None or foreseen is None:
                rows.append(
                    {"program": source.stem, "change": each["name"], "said": each["verdict"]}
                )
                continue
            before, after, expected = worst["baseline"], worst["other"], foreseen["max_ns"]
            helped = each["verdict"] == "better"
            right, total = right + (helped == bool(truth[each["name"]])), total + 1
            off = abs(after - expected) / max(abs(after - before), 1)
            rows.append(
                {"program": source.stem, "change": each["name"], "verdict": each["verdict"],
                 "worst_before_us": round(before / 1e3),
                 "worst_after_us": round(after / 1e3),
                 "predicted_us": round(expected / 1e3), "off_%_of_effect": round(100 * off, 1)}
            )  # fmt: skip
    helps = [row["off_%_of_effect"] for row in rows if row.get("verdict") == "better"]
    share = 100 * right / total if total else None
    report("direction of changes of known effect", "all", share, "%", {"rows": rows})
    off = max(helps, default=None)
    report("predicted worst response, off by this of the effect", "<= 20 %", off, "%")


def _nothing(folder: Path, trials: int) -> None:
    """A change that does nothing, again and again."""
    program = _built(EXAMPLES / "inverted.c", folder)
    said = []
    for _ in range(trials):
        said.append(_tried(folder, ("--try", "nothing", "--", program, "1"))[0]["verdict"])
        print(len(said), said[-1], file=sys.stderr, flush=True)
    false = said.count("better")
    extra = {"trials": trials, "verdicts": {word: said.count(word) for word in {*said}}}
    report("a change that does nothing called a help", "<= 5 %", 100 * false / trials, "%", extra)


if __name__ == "__main__":
    main()
