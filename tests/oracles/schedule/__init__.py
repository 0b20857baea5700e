"""The slow, obviously right twin of the simulator: one unit of time after the other.

Written from the semantics (docs/reference/policies.md) and the papers each policy names, not from
the core; tests/sched/test_sched_twin.py keeps the two equal. Fit for systems whose hyper-period
is some tens of units.
"""

from importlib import import_module
from pkgutil import iter_modules

from oracles.schedule.policies import POLICIES, Policy, Refusal
from oracles.schedule.simulator import Finding, Miss, decide, run

# Every file here may register policies.
for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")

__all__ = ["POLICIES", "Finding", "Miss", "Policy", "Refusal", "decide", "run"]
