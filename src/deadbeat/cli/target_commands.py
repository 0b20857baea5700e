"""``deadbeat targets``: machines to measure. What its commands do: `targets`."""

from __future__ import annotations

from deadbeat.cli._options import CROSS, Verbs, arg

group = Verbs(
    name="targets",
    help="""Say what a machine can and cannot do.

Start with: deadbeat targets check ssh://user@host""",
)

group.add(
    "targets:check",
    "Say what a machine can and cannot do, in seconds.",
    """Say what a machine can and cannot do: its shell, folder and architecture, whether a program
    for it is built and starts there, permissions, clock, tracing, programs, and the fragments it
    cannot run; each with the reason and how to mend it. Nothing is measured or changed.

    NAME is what --target takes: local, or ssh://user@host[:port].

    Exit status 1: nothing can be measured there.""",
    arg("name", "[NAME]", default="local"),
    CROSS,
)
