"""How the kernel was built."""

from __future__ import annotations

from deadbeat.readiness.check import Verdict, check, failed, passed
from deadbeat.readiness.facts import CONFIG, Facts

KC = "Documentation/core-api/real-time/kernel-configuration.rst"


@check(
    "kernel.preempt-rt",
    "fully preemptible kernel",
    severity="fatal",
    source=KC,
    wanted="CONFIG_PREEMPT_RT=y, or /sys/kernel/realtime is 1",
    reads=(CONFIG, "/sys/kernel/realtime"),
    cure="boot a PREEMPT_RT kernel (Debian: linux-image-rt-amd64)",
)
def preempt_rt(facts: Facts) -> Verdict:
    """Only PREEMPT_RT lets a real-time task preempt nearly all of the kernel."""
    if facts.get("/sys/kernel/realtime") == "1":
        return passed("/sys/kernel/realtime is 1")
    if facts.option("PREEMPT_RT") == "y":
        return passed("CONFIG_PREEMPT_RT=y")
    return failed(
        "CONFIG_PREEMPT_RT is not set",
        "interrupt handlers and spin locks of this kernel cannot be preempted",
    )
