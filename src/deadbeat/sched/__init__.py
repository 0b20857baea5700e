"""The schedulability lab: simulator, schedulability tests and generators over the C++ core."""

from __future__ import annotations

from deadbeat.model.systems import TaskSystem, TimedTask
from deadbeat.sched.analysis import (
    Analysis,
    SchedulerAnalysis,
    TestFacts,
    TestResult,
    analyze,
    test_batch,
    tests,
)
from deadbeat.sched.arrays import TaskBatch
from deadbeat.sched.simulator import (
    Costs,
    PolicyFacts,
    Scheduler,
    TiesVerdict,
    Verdict,
    option_words,
    policies,
    simulate,
    simulate_batch,
    simulate_ties,
    tie_rules,
)

__all__ = [
    "Analysis",
    "Costs",
    "PolicyFacts",
    "Scheduler",
    "SchedulerAnalysis",
    "TaskBatch",
    "TaskSystem",
    "TestFacts",
    "TestResult",
    "TiesVerdict",
    "TimedTask",
    "Verdict",
    "analyze",
    "option_words",
    "policies",
    "simulate",
    "simulate_batch",
    "simulate_ties",
    "test_batch",
    "tests",
    "tie_rules",
]
