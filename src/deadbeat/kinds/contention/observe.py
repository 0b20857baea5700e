"""Campaigns as tables of observations."""

from __future__ import annotations

from deadbeat.model.comparison import Vocabulary
from deadbeat.model.observations import Metric

METRICS = (
    Metric(name="slowdown", title="Slowdown", minimum=0.02),
    Metric(name="delay_ratio", title="Delay ratio", text="delay ratio", minimum=0.02),
    Metric(
        name="deadline_miss_ratio",
        title="Deadline miss ratio",
        text="miss ratio",
        unit="share",
        minimum=0.005,
        log=False,
        rare=True,
    ),
)
WORDS = Vocabulary(
    units="programs",
    results="campaigns",
    one="campaign",
    once_more="run the baseline's programs once more where it ran (--programs-from) and name the"
    " repeat with --aa",
    find_lost="see what was lost and why (deadbeat show), repeat what failed with --retry-failed;"
    " a task that never finishes shows in the misses",
    lost="of the jobs never finished",
    more="task sets (--replicas)",
    rare="a shorter deadline (--deadline-factor 2) or more task sets would show more",
    finish="finish the campaigns, or repeat their commands with --retry-failed",
)
