"""What positive controls do to tasks on purpose, as options of the runtime's program."""

from __future__ import annotations

from attrs import frozen


@frozen(kw_only=True)
class Hog:
    """A thread above all tasks that spins on logical core ``core``, for ``length_ns`` of every
    ``period_ns``, the first time ``start_ns`` after the start of a slot."""

    core: int
    start_ns: int = 0
    length_ns: int
    period_ns: int


@frozen(kw_only=True)
class Move:
    """Task ``task`` is moved to the next CPU for the second half of every ``period_ns``."""

    task: int
    period_ns: int


def inject_options(
    *,
    delay_ns: int = 0,
    delay_task: int = 0,
    delay_every: int = 1,
    hog: Hog | None = None,
    move: Move | None = None,
    fair_core: int | None = None,
) -> dict[str, str]:
    """Options that do this while all tasks run together.

    Args:
        delay_ns: Added to every ``delay_every``-th job of task ``delay_task``.
        fair_core: Logical core on which a best-effort thread spins beside the tasks.
    """
    options = {}
    if delay_ns:
        options["--inject-ns"] = str(delay_ns)
        options["--inject-task"] = str(delay_task)
        options["--inject-every"] = str(delay_every)
    if hog is not None:
        words = (hog.core, hog.start_ns, hog.length_ns, hog.period_ns)
        options["--inject-hog"] = ",".join(map(str, words))
    if move is not None:
        options["--inject-migrate"] = f"{move.task},{move.period_ns}"
    if fair_core is not None:
        options["--inject-fair"] = str(fair_core)
    return options
