"""``deadbeat breakdown``: up to which utilisation task sets meet their deadlines."""

from __future__ import annotations

from deadbeat.cli._measuring import measuring
from deadbeat.cli._options import CALIBRATION, MACHINE
from deadbeat.kinds.breakdown.spec import BreakdownSpec
from deadbeat.model.specification import options_of

#: T = D is what the search varies; a job that comes too late would not be judged like the others.
_NOT_HERE = (
    *("tasks.deadline_factor", "run.overrun"),
    *("run.split", "run.causes", "run.counters"),
)

command = measuring(
    "breakdown",
    "breakdown",
    options_of(BreakdownSpec, without=_NOT_HERE, first="breakdown"),
    """Find the breakdown utilisation: up to which utilisation task sets meet their deadlines, over
    cores, rho, alpha, tasks per core and priority rule.

    Every task set is one program, whose T = D is shrunk between runs, by bisection, until it begins
    to miss. Beside it: what the schedulability lab predicts for the same sets from their calibrated
    C, and from C inflated by what their jobs really took.

    Searches live in RUNS/NAME; the same command continues one that was interrupted, or lost a run.
    """,
    quick="Under five minutes: preset quick.",
    presets="default or quick.",
    own=(CALIBRATION,),
    machine=MACHINE,
)
