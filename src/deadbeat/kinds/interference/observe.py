"""Load tests as tables of observations."""

from __future__ import annotations

from deadbeat.model.comparison import Vocabulary
from deadbeat.model.observations import Metric

#: Of the rounds of a run without a remedy, and of the ordinary threads beside it.
METRICS = (
    Metric(
        name="deadline_miss_ratio",
        title="Deadline miss ratio",
        text="miss ratio",
        unit="share",
        minimum=0.005,
        log=False,
        rare=True,
    ),
    *(
        Metric(name=name, title=title, text=text, unit="ns", shown="ms", minimum=0.05)
        for name, title, text in (
            ("response_p50", "Median response time", "median response"),
            ("response_p99", "99 % quantile", "p99 response"),
            ("response_max", "Longest response time", "longest response"),
        )
    ),
    Metric(
        name="work_lost",
        title="Work lost",
        text="work lost",
        unit="share",
        minimum=0.05,
        log=False,
    ),
)
WORDS = Vocabulary(
    units="runs",
    results="load tests",
    one="load test",
    once_more="repeat the baseline's command where it ran, under another --name, and name it with"
    " --aa",
    find_lost="see which runs are invalid, and why (deadbeat show); a release that is skipped has"
    " no response time, it shows in the misses",
    lost="of the releases were skipped",
    more="runs (--repeats)",
    rare="more --repeats, or longer runs (--seconds), would show more",
    finish="repeat the commands that began them: they measure what is lacking",
)
