"""Run keys as text: the names of a run's files."""

from __future__ import annotations

import re

from deadbeat.model.errors import DataError
from deadbeat.model.results import Point, RunKey

_PATTERN = re.compile(
    r"m([0-9]{3,6})-s([0-9]{4})-c([0-9]{4})(?:-d([0-9]{6,7}))?(?:-t([0-9]{2}))?-r([0-9]{4,9})"
)


def parse_run_key(text: str) -> RunKey:
    """Run key from its text, ``m002-s0500-c1000-r0007``.

    Raises:
        DataError: Not a run key.
    """
    match = _PATTERN.fullmatch(text)
    if match:
        cores, sync_share, contended_ratio, factor, per_core, replica = (
            int(part or 0) for part in match.groups()
        )
        key = RunKey(Point(cores, sync_share, contended_ratio, factor, per_core), replica)
        # A text that is not the key's own (m0001-...) would give one run two names.
        if key.text == text and cores >= 1 and sync_share <= 1000 and contended_ratio <= 1000:
            return key
    raise DataError(f"{text!r} is not a run key", "a run key looks like m002-s0500-c1000-r0007")
