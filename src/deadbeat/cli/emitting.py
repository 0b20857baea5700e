"""``emit``: a task set as a C tree of its own."""

from __future__ import annotations

from pathlib import Path

from deadbeat.kinds.base import Shown
from deadbeat.kinds.contention.emitting import emit_tree


def emit(
    campaign: str,
    *,
    out: Path,
    keys: tuple[str, ...],
    port: str,
    calibration: Path | None,
    runs: Path,
) -> Shown:
    made = emit_tree(campaign, out, runs=runs, keys=keys, port=port, calibration=calibration)
    sets = [{"set": key, "set_id": name} for key, name in made.sets]
    plain = {"out": str(out), "port": port, "sets": sets, "files": list(made.files)}
    lines = [f"set {number}: {key} ({name[:12]})" for number, (key, name) in enumerate(made.sets)]
    go_on = f"next: make -C {out} check" if port == "posix" else f"next: {out / 'PORTING.md'}"
    return Shown(plain=plain, parts=[*lines, f"{len(made.files)} files in {out}; {go_on}"])
