"""What is asked of a program."""

from __future__ import annotations

from attrs import frozen

from deadbeat.model import rules
from deadbeat.model.specification import keyed

_TIME = rules.DurationNs(1_000, 3600 * 10**9)


@frozen(kw_only=True)
class ProgramSpec:
    """Which program, for how long, how often, and what its jobs must keep."""

    name: str = keyed(
        rules.Name(), "--name NAME", "Name of the results.  [the program]", default="program"
    )
    command: tuple[str, ...] = keyed(rules.CommandLine(), "CMD", "The program and its arguments.")
    duration: float | None = keyed(
        rules.Seconds("0.1", str(30 * 86400)),
        "--duration TIME",
        "Measuring time, 10s or 5min; the program is ended then.  [when it ends by itself]",
        default=None,
    )
    period: int | None = keyed(
        _TIME,
        "--period TIME",
        "Time between releases of every task, 1ms.  [what the program says]",
        default=None,
    )
    deadline: int | None = keyed(
        _TIME,
        "--deadline TIME",
        "Deadline of every task after its release.  [what the program says, or the period]",
        default=None,
    )
    repeats: int = keyed(
        rules.Whole(1, 9999), "--repeats N", "Times the program is run.", default=1
    )
