"""The schedulability lab: simulator, schedulability tests and generators over the C++ core."""

from __future__ import annotations

from deadbeat.model.systems import TaskSystem, TimedTask
from deadbeat.sched.arrays import TaskBatch
from deadbeat.sched.simulator import (
    Costs,
    PolicyFacts,
    Scheduler,
    Verdict,
    policies,
    simulate,
    simulate_batch,
    tie_rules,
)

__all__ = [
    "Costs",
    "PolicyFacts",
    "Scheduler",
    "TaskBatch",
    "TaskSystem",
    "TimedTask",
    "Verdict",
    "policies",
    "simulate",
    "simulate_batch",
    "tie_rules",
]
