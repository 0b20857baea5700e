"""What every benchmark of this project shares: figures as lines of JSON on stdout, a quick form.

Importing it makes the tests' ``helpers`` found.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "tests"))


def report(
    name: str, goal: str, measured: float | None, unit: str, extra: Mapping[str, Any] | None = None
) -> None:
    """Print one figure as a line of JSON.

    Args:
        name: What was measured, as in the table of goals.
        goal: What is wanted, in words, such as ``<= 10 s``.
        measured: The figure, in ``unit``; None: there was nothing to measure it by.
        extra: What else a reader needs to judge it.
    """
    row = {"name": name, "goal": goal, "measured": measured, "unit": unit, **(extra or {})}
    print(json.dumps(row), flush=True)


def not_measured(name: str, why: str) -> None:
    """Print that a figure cannot be had here: a program that it needs is missing."""
    print(json.dumps({"name": name, "not_measured": why}), flush=True)


def asked() -> tuple[bool, list[str]]:
    """Whether the quick form is asked for (--quick), and all other words.

    A quick form runs every part, on too little to judge by.
    """
    words = sys.argv[1:]
    return "--quick" in words, [word for word in words if word != "--quick"]


def deadbeat(*words: str, cwd: str | Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command that is being tried; what it says ends the benchmark if it fails."""
    argv = (sys.executable, "-m", "deadbeat", *words)
    done = subprocess.run(
        argv, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"deadbeat {' '.join(words)}: {done.stderr[-500:]}")
    return done


def results(*words: str, cwd: str | Path | None = None) -> Any:
    """The results in its answer."""
    first, *rest = words
    return json.loads(deadbeat(first, "--json", *rest, cwd=cwd).stdout)["results"]
