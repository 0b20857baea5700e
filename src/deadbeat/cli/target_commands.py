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
    arg("name", "[NAME]", default="local"),
    CROSS,
)
