"""What the kernel lets a program do, and how often CPU quotas held it back, by its own count."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from deadbeat.base.model.words import time_text
from deadbeat.machine.host.proc import CAPABILITIES, CPU_FOLDER, limit, status_field
from deadbeat.machine.targets.base import Target

_ROOT = PurePosixPath("/sys/fs/cgroup")


_LIMITS = {
    "RLIMIT_RTPRIO": "Max realtime priority",
    "RLIMIT_RTTIME, us": "Max realtime timeout",
    "RLIMIT_MEMLOCK, bytes": "Max locked memory",
    "RLIMIT_NOFILE": "Max open files",
}


def allowed(target: Target, pid: int) -> dict[str, str]:
    """Limits (soft), capabilities and CPUs of a process, and which CPUs are isolated; what cannot
    be read is unknown, with the reason."""

    def read(path: str) -> str | None:
        return target.read_text(path.replace("/proc/self/", f"/proc/{pid}/"))

    limits = {key: limit(read, name)["soft"] for key, name in _LIMITS.items()}
    held = status_field(read, "CapEff")
    bits = int(held or "0", 16)
    lacking = [name for name, bit in CAPABILITIES.items() if not bits >> bit & 1]
    away = read(f"{CPU_FOLDER}/isolated")
    return {
        **{
            key: "unlimited" if value == -1 else str(value).replace("self", str(pid))
            for key, value in limits.items()
        },
        "capabilities": "unknown"
        if held is None
        else f"without {', '.join(lacking)}"
        if lacking
        else "all that real-time work needs",
        "CPUs": status_field(read, "Cpus_allowed_list") or "unknown",
        "isolated CPUs": "unknown" if away is None else away.strip() or "none",
    }


class Quotas:
    """Quotas of a process and of the groups above its own; ``allowed``: as `allowed` has it."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._before: dict[PurePosixPath, tuple[int, int, int]] = {}
        self._pid = 0
        self.allowed: dict[str, str] = {}

    def begin(self, pid: int) -> None:
        self._pid, self.allowed = pid, allowed(self._target, pid)
        self.look()

    def look(self) -> None:
        """Begin with groups that it was moved to meanwhile: by a script that runs it, say."""
        for line in (self._target.read_text(f"/proc/{self._pid}/cgroup") or "").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and "cpu" not in controllers.split(","):
                continue
            group = _ROOT / controllers / path.lstrip("/")
            for each in (group, *group.parents):
                if each not in self._before and (counts := self._counts(each)) is not None:
                    self._before[each] = counts

    def finish(self) -> Iterator[str]:
        """A sentence for each group that was throttled since."""
        for group, before in self._before.items():
            now = self._counts(group) or before
            periods, throttled, ns = (new - old for new, old in zip(now, before, strict=True))
            if throttled:
                times = f"{throttled:,} of {periods:,} periods, {time_text(ns)} in all"
                quota = self._quota(group)
                yield f"its CPU quota{quota} held it back in {times} (control group {group.name})"

    def _counts(self, group: PurePosixPath) -> tuple[int, int, int] | None:
        """Periods, those in which it was held back, and for how long, ns; None: no such group."""
        text = self._target.read_text(str(group / "cpu.stat")) or ""
        known = dict(line.split(" ", 1) for line in text.splitlines() if " " in line)
        found = [known.get(name, "") for name in ("nr_periods", "nr_throttled")]
        if not all(map(str.isdecimal, found)):
            return None
        ns = int(known.get("throttled_usec", 0)) * 1000 or int(known.get("throttled_time", 0))
        return int(found[0]), int(found[1]), ns

    def _quota(self, group: PurePosixPath) -> str:
        words = (self._target.read_text(str(group / "cpu.max")) or "").split()
        if not words:  # the first version of control groups
            names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            words = [(self._target.read_text(str(group / n)) or "").strip() for n in names]
        if len(words) != 2 or not all(map(str.isdecimal, words)):
            return ""
        quota, period = (time_text(int(word) * 1000) for word in words)
        return f" of {quota} in {period}"
