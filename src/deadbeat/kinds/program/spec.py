"""What is asked of a program."""

from __future__ import annotations

from attrs import frozen

from deadbeat.experiment import fields
from deadbeat.model import rules
from deadbeat.model.specification import keyed

_TIME = rules.DurationNs(1_000, 3600 * 10**9)


@frozen(kw_only=True)
class ProgramSpec:
    """Which program, for how long, how often, and what its jobs must keep."""

    name: str = fields.name("Name of the results.  [the program]", "program")
    command: tuple[str, ...] = keyed(rules.CommandLine(), "CMD", "The program and its arguments.")
    duration: float | None = fields.duration(
        "0.1",
        str(30 * 86400),
        "Measuring time, 10s or 5min; the program is ended then.  [when it ends by itself]",
        None,
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
    repeats: int = fields.repeats("Times the program is run.", 1)
