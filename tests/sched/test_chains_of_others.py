"""Truth: two tools of others, run on drawn examples; their numbers are kept in a file.

pyCPA (824e794): tasks that execute alone, so that responses are C, periods that divide each other.
Where a phase and C are above the period it looks no further than one period, which is too little;
of three tasks and more it adds worst distances, which is sometimes more. Neither is kept.

Authors (Günzel et al., a460ed0 of RTAS 2021 and 3261f4c of RTNS 2023): tasks on one processor, the
most urgent first; bounds of Davare and Dürr, their simulation, and their bound at offsets.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from deadbeat import sched
from deadbeat.base.model.systems import Chain, TaskSystem, TimedTask
from deadbeat.sched.chain_results import chain_results
from deadbeat.sched.chains import Stage, bounds_at_offsets, chain_bounds, chain_times
from deadbeat.sched.picture import observe
from deadbeat.sched.simulator import Scheduler

OTHERS = json.loads((Path(__file__).parent / "chains-of-others.json").read_text())


def test_ages_and_reactions_at_offsets_are_those_of_pycpa() -> None:
    for tasks, age, reaction in OTHERS["pycpa"]:
        found = bounds_at_offsets([Stage(period=t, response=c, offset=o) for c, t, o in tasks])
        assert found and (found.age, found.reaction) == (age, reaction), tasks


@pytest.mark.parametrize("row", OTHERS["authors"])
def test_bounds_and_times_are_those_of_the_authors(row: Any) -> None:
    tasks = tuple(
        TimedTask(wcet=c, period=t, deadline=t, offset=o, priority=-i)
        for i, (c, t, o) in enumerate(row["tasks"])
    )
    system = TaskSystem(processors=1, tasks=tasks, chains=(Chain(tasks=tuple(row["chain"])),))
    analysis = sched.analyze(system, names=["uni-rta"], priorities="given")
    (found,) = chain_results(analysis)
    assert found.bounds and found.at_offsets
    assert [found.bounds.age, found.bounds.from_event] == row["duerr"]
    assert found.at_offsets.from_event == row["periodic"]
    bounds = analysis.results[0].bounds
    stages = [Stage(period=tasks[i].period, response=bounds[i] or 0) for i in row["chain"]]
    assert chain_bounds(stages).from_event == row["davare"]
    verdict = sched.simulate(system, Scheduler(policy="g-fp", priorities="given"))
    jobs = observe(system, verdict, horizon=4000, segments=False).jobs
    jobs[:, 2] = jobs[:, 3]  # they count from the start
    times = chain_times(row["chain"], jobs)
    event = max(times.from_events)
    assert [max(times.ages), event, event] == row["seen"]
