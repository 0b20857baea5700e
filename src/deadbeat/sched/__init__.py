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
from deadbeat.sched.generators import (
    Recipe,
    SamplerFacts,
    generate,
    period_samplers,
    sample_cfs,
    sample_utilisations,
    utilisation_samplers,
)
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
    "Recipe",
    "SamplerFacts",
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
    "generate",
    "option_words",
    "period_samplers",
    "policies",
    "sample_cfs",
    "sample_utilisations",
    "simulate",
    "simulate_batch",
    "simulate_ties",
    "test_batch",
    "tests",
    "tie_rules",
    "utilisation_samplers",
]
