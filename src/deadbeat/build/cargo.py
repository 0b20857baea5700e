"""Calls of cargo, which fetches and builds crates; its own words are told where it cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from deadbeat.model.errors import BuildError

_PATIENCE_S = 300


def call_cargo(
    words: Sequence[str],
    folder: Path,
    what: str,
    *,
    hint: str,
    cargo: str = "cargo",
    environment: Mapping[str, str] | None = None,
) -> None:
    """Calls it in ``folder``.

    Args:
        what: What is made: "fetch the FreeRTOS kernel". ``hint``: What it needs.

    Raises:
        BuildError: There is no cargo, it did not end, or it failed.
    """
    if shutil.which(cargo) is None:
        raise BuildError(f"there is no cargo to {what} with", hint)
    try:
        done = subprocess.run(
            [cargo, *words],
            cwd=folder,
            env={**os.environ, "CARGO_TERM_COLOR": "never", **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_PATIENCE_S,
        )
    except subprocess.TimeoutExpired:
        raise BuildError(
            f"cargo did not {what} within {_PATIENCE_S} s", "is there a network?"
        ) from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        faults = [line for line in lines if line.startswith("error")] or lines
        raise BuildError(f"cargo could not {what}: {faults[0][:200]}", hint)
