"""What the runs of a comparison are called, and what more of them costs, for each kind."""

from __future__ import annotations

from attrs import frozen


@frozen(kw_only=True)
class Vocabulary:
    """Words of one kind of results.

    Attributes:
        units: What is paired.
        results: What is compared: folders with results.
        one: One of them.
        figure: What depends on how they were measured.
        no_repeats: Why two sessions alone decide nothing.
        once_more: How a repeat of the baseline is made.
        find_lost: What to do where one side lost more.
        lost: What a share of lost work is a share of.
        more: What makes a comparison sharper, after a number.
        rare: What would make rare events speak.
        finish: What to do where results are missing.
        cautious: Whether ``better`` is withheld where any metric leans the other way by the minimum
            effect, also if chance may have done it: an earlier median does not make up for a
            later tail.
    """

    units: str
    results: str
    one: str
    figure: str
    no_repeats: str
    once_more: str
    find_lost: str
    lost: str
    more: str
    rare: str
    finish: str
    cautious: bool = False


CAMPAIGNS = Vocabulary(
    units="programs",
    results="campaigns",
    one="campaign",
    figure="a ratio",
    no_repeats="no A/A repeats: a drift of the machine between sessions cannot be told from an"
    " effect or its absence; repeat the baseline with --programs-from and give it as --aa",
    once_more="run the baseline's programs once more where it ran and name the repeat with --aa",
    find_lost="see what was lost and why (deadbeat show), repeat what failed with --retry-failed;"
    " a task that never finishes shows in the misses",
    lost="of the jobs never finished",
    more="task sets (--replicas)",
    rare="a shorter deadline (--deadline-factor 2) or more task sets would show more",
    finish="finish the campaigns, or repeat their commands with --retry-failed",
)
LATENCIES = Vocabulary(
    units="runs",
    results="matrices",
    one="matrix",
    figure="a latency",
    no_repeats="no A/A repeats: a drift of the machine between sessions cannot be told from an"
    " effect or its absence; repeat the baseline's command under another --name and give it as"
    " --aa",
    once_more="repeat the baseline's command where it ran, under another --name, and name it with"
    " --aa",
    find_lost="see which runs are invalid or missed periods, and why (deadbeat show); the prober"
    " corrects for missed periods",
    lost="of the periods had no wake-up",
    more="runs (--repeats)",
    rare="more --repeats, or longer runs, would show more",
    finish="repeat the commands that began them: they measure what is lacking",
    cautious=True,
)
LOADS = Vocabulary(
    units="runs",
    results="load tests",
    one="load test",
    figure="a missed deadline",
    no_repeats=LATENCIES.no_repeats,
    once_more=LATENCIES.once_more,
    find_lost="see which runs are invalid, and why (deadbeat show); a release that is skipped has"
    " no response time, it shows in the misses",
    lost="of the releases were skipped",
    more="runs (--repeats)",
    rare="more --repeats, or longer runs (--seconds), would show more",
    finish="repeat the commands that began them: they measure what is lacking",
    cautious=True,
)
