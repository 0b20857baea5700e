"""How the kernel was built, against its own documentation (core-api/real-time)."""

from __future__ import annotations

from helpers.checks import Cases, case, config

CASES: Cases = {
    "kernel.preempt-rt": {
        "pass": case(outputs=config("PREEMPT_RT=y")),
        "fail": case(outputs=config("PREEMPT=y")),
        "unknown": case(),
    },
}
