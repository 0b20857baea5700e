"""CPU quotas of control groups: how often the kernel held a program back, by its own count."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from deadbeat.base.model.words import time_text
from deadbeat.machine.targets.base import Target

_ROOT = PurePosixPath("/sys/fs/cgroup")


class Quotas:
    """Quotas of a process and of the groups above its own."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._before: dict[PurePosixPath, tuple[int, int]] = {}

    def begin(self, pid: int) -> None:
        for line in (self._target.read_text(f"/proc/{pid}/cgroup") or "").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and "cpu" not in controllers.split(","):
                continue
            group = _ROOT / controllers / path.lstrip("/")
            for each in (group, *group.parents):
                if (counts := self._counts(each)) is not None:
                    self._before[each] = counts

    def finish(self) -> Iterator[str]:
        """A sentence for each group that was throttled since."""
        for group, (periods, throttled) in self._before.items():
            now = self._counts(group) or (periods, throttled)
            if now[1] > throttled:
                times = f"{now[1] - throttled:,} of {now[0] - periods:,} periods"
                quota = self._quota(group)
                yield f"its CPU quota{quota} held it back in {times} (control group {group.name})"

    def _counts(self, group: PurePosixPath) -> tuple[int, int] | None:
        text = self._target.read_text(str(group / "cpu.stat")) or ""
        known = dict(line.split(" ", 1) for line in text.splitlines() if " " in line)
        found = [known.get(name, "") for name in ("nr_periods", "nr_throttled")]
        return (int(found[0]), int(found[1])) if all(map(str.isdecimal, found)) else None

    def _quota(self, group: PurePosixPath) -> str:
        words = (self._target.read_text(str(group / "cpu.max")) or "").split()
        if not words:  # the first version of control groups
            names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            words = [(self._target.read_text(str(group / n)) or "").strip() for n in names]
        if len(words) != 2 or not all(map(str.isdecimal, words)):
            return ""
        quota, period = (time_text(int(word) * 1000) for word in words)
        return f" of {quota} in {period}"
