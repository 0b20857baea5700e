"""What recording a job costs, around a job that does nothing: the fastest of 200 batches."""

from __future__ import annotations

from common import report

from deadbeat.executors.hardware import HardwareExecutor


def main() -> None:
    """Both clock reads and the record; with the split also the scheduler's accounts, twice; with
    causes also the clock between the uses, and what is learnt from it."""
    executor = HardwareExecutor(lock_wait=600)
    told = list(executor.converse("instrument", "fifo", {}, timeout=90.0))
    executor.close()
    words = next(line.split() for line in told if line.startswith("instrument "))
    plain, split, causes, use = (round(int(word) / 1000, 1) for word in words[2::2])
    report("instrumentation per job", "<= 150 ns", plain, "ns")
    report("instrumentation per job with the split", "<= 3000 ns", split, "ns")
    report("instrumentation per job with causes", "<= 3500 ns", causes, "ns")
    report("... and per use, inside the span", "<= 60 ns", use, "ns")


if __name__ == "__main__":
    main()
