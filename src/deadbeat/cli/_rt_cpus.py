"""``--rt-cpus``: CPUs meant for real-time tasks."""

from __future__ import annotations

from deadbeat.model.errors import UsageError
from deadbeat.model.rules import Cpus, RefusedError


def rt_cpus_of(text: str | None) -> tuple[int, ...] | None:
    """CPUs that ``text`` names, in ascending order; None where it is not given.

    Raises:
        UsageError: It is no list of CPUs.
    """
    if text is None:
        return None
    try:
        found = Cpus().parse(text)
    except RefusedError as error:
        problem = error.problems[0]
        raise UsageError(f"--rt-cpus: {problem.found}", problem.hint) from None
    if not found:
        raise UsageError("--rt-cpus names no CPU", "write it like 2-3")
    return tuple(sorted(found))
