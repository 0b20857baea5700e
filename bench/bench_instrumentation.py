"""What recording a job costs, around a job that does nothing: the fastest of 200 batches."""

from __future__ import annotations

from common import report

from deadbeat.executors.hardware import HardwareExecutor


def main() -> None:
    """Both clock reads and the record; with the split also the scheduler's accounts, twice; with
    causes also the clock between the uses, and what is learnt from it."""
    executor = HardwareExecutor(lock_wait=600)
    cost = executor.instrumentation(policy="fifo")
    executor.close()
    report("instrumentation per job", "<= 150 ns", round(cost.plain_ns, 1), "ns")
    report("instrumentation per job with the split", "<= 3000 ns", round(cost.split_ns, 1), "ns")
    report("instrumentation per job with causes", "<= 3500 ns", round(cost.causes_ns, 1), "ns")
    report("... and per use, inside the span", "<= 60 ns", round(cost.use_ns, 1), "ns")


if __name__ == "__main__":
    main()
