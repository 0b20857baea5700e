"""How long the doctor takes on this machine, as a person waits. Goal: <= 2 s, 100+ checks."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from time import perf_counter

from common import report

GOAL_S, CHECKS_MIN = 2.0, 100


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    command = (sys.executable, "-m", "deadbeat", "doctor", "--json")
    took, checks = [], 0
    for _ in range(asked.repeats):
        start = perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        took.append(perf_counter() - start)
        answer = json.loads(done.stdout)
        checks = len(answer["checks"])
    known = sum(check["status"] != "unknown" for check in answer["checks"])
    report(
        "readiness of a machine",
        f"<= {GOAL_S:g} s with {CHECKS_MIN} checks or more",
        round(statistics.median(took), 3),
        "s",
        {"slowest": round(max(took), 3), "repeats": len(took), "checks": checks, "known": known},
    )
    return 0 if statistics.median(took) <= GOAL_S and checks >= CHECKS_MIN else 1


if __name__ == "__main__":
    sys.exit(main())
