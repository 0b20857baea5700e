from deadbeat.base.model.systems import TaskSystem, TimedTask
from deadbeat.sched.analysis import analyze, test_batch, tests
from deadbeat.sched.arrays import TaskBatch
from deadbeat.sched.batches import simulate_batch
from deadbeat.sched.generators import (
    Recipe,
    generate,
    period_samplers,
    sample_cfs,
    sample_utilisations,
    utilisation_samplers,
)
from deadbeat.sched.simulator import (
    Costs,
    Scheduler,
    Verdict,
    policies,
    simulate,
    simulate_ties,
    tie_rules,
)

__all__ = [
    "Costs",
    "Recipe",
    "Scheduler",
    "TaskBatch",
    "TaskSystem",
    "TimedTask",
    "Verdict",
    "analyze",
    "generate",
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
