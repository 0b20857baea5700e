"""A campaign over SSH on loopback against the same campaign here: wall time, and the estimates."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from math import exp, log
from pathlib import Path
from statistics import mean, stdev
from time import perf_counter

from common import report

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from helpers.sshd import private_sshd

#: Campaigns on each side, by turns.
PAIRS = int(os.environ.get("DEADBEAT_PAIRS", "4"))
CAMPAIGN = ("profile", "--quick", "--sets", "2", "--no-figures", "--calibration", "costs.json")


def deadbeat(folder: Path, *words: str) -> tuple[float, str]:
    """Seconds that a command took, and what it printed."""
    began = perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "deadbeat", "--quiet", *words],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return perf_counter() - began, done.stdout


def main() -> None:
    """Ratios of neighbours in time: a busy machine widens them, and moves neither side."""
    ratios, local = [], []
    with tempfile.TemporaryDirectory() as name:
        folder, keys = Path(name), Path(name) / "sshd"
        keys.mkdir()
        deadbeat(folder, "calibrate", "--pool", "quick", "--duration", "6", "--out", "costs.json")
        with private_sshd(keys) as server:
            os.environ["DEADBEAT_SSH_CONFIG"] = str(server.config)
            deadbeat(folder, *CAMPAIGN, "--name", "first")  # builds the programs
            over = ("--target", server.word)
            for pair in range(PAIRS):
                sides = {"here": (), "there": over}
                took = {}
                for side in sorted(sides, reverse=bool(pair % 2)):
                    words = (*CAMPAIGN, "--name", f"{side}-{pair}", *sides[side])
                    took[side], _ = deadbeat(folder, *words)
                ratios.append(took["there"] / took["here"])
                local.append(took["here"])
            here = [f"runs/here-{pair}" for pair in range(PAIRS)]
            there = [f"runs/there-{pair}" for pair in range(PAIRS)]
            _, answer = deadbeat(folder, "compare", here[0], there[0], "--aa", here[1], "--json")
    logs = [log(ratio) for ratio in ratios]
    spread = stdev(logs) / len(logs) ** 0.5 if len(logs) > 1 else 0.0
    report(
        "wall time of a campaign over SSH on loopback against here",
        "<= 1.03",
        round(exp(mean(logs)), 4),
        "ratio",
        {
            "standard_error": round(spread, 4),
            "ratios": [round(ratio, 4) for ratio in ratios],
            "here_s": [round(seconds, 1) for seconds in local],
            "compare": json.loads(answer).get("headline", ""),
        },
    )


if __name__ == "__main__":
    main()
