"""Writes the drawings of simulated schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deadbeat.report.sched_gantt import gantt_svg
from deadbeat.report.sched_page import render_schedule
from deadbeat.report.sched_trace import trace_text
from deadbeat.sched.picture import Picture
from deadbeat.store.files import atomic_write, storing


def write_gantt(path: Path, picture: Picture, *, title: str = "") -> None:
    """Writes the Gantt chart as SVG. Raises DeadbeatError when it cannot be written."""
    _write(path, gantt_svg(picture, title=title))


def write_trace(path: Path, picture: Picture) -> None:
    """Writes the trace for Perfetto. Raises DeadbeatError when it cannot be written."""
    _write(path, trace_text(picture))


def write_schedule(
    path: Path,
    picture: Picture,
    answer: Mapping[str, Any],
    responses: Sequence[NDArray[np.int64]] | None,
    *,
    title: str,
) -> None:
    """Writes the page, see ``render_schedule``. Raises DeadbeatError when it cannot be written."""
    _write(path, render_schedule(picture, answer, responses, title=title))


def _write(path: Path, text: str) -> None:
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, text)
