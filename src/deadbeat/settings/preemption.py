"""The preemption model a kernel runs with, from what it shows to a process."""

from __future__ import annotations

import re

from deadbeat.settings.procfs import Read, is_unknown, kernel_config, stripped, unknown

Answer = tuple[str, str]


def preemption_model(read: Read) -> Answer:
    """none, voluntary, full, lazy, rt or ``unknown: REASON``; and what the answer rests on."""
    return _realtime(read) or _switchable_now(read) or _dynamic(read) or _built_in(read)


def kernel_release(read: Read) -> tuple[int, int]:
    """Major and minor number of the kernel; (0, 0) when not known."""
    return release_of(read("/proc/version") or "")


def release_of(text: str) -> tuple[int, int]:
    """Major and minor number in a text that names a kernel; (0, 0) when there is none."""
    found = re.search(r"\b(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _realtime(read: Read) -> Answer | None:
    if stripped(read, "/sys/kernel/realtime") == "1":
        return "rt", "/sys/kernel/realtime is 1"
    if re.search(r"\bPREEMPT[_ ]RT\b", read("/proc/version") or ""):
        return "rt", "PREEMPT_RT in /proc/version"
    return None


def _switchable_now(read: Read) -> Answer | None:
    path = "/sys/kernel/debug/sched/preempt"
    found = re.search(r"\((\w+)\)", read(path) or "")
    return (found[1], path) if found else None


def _dynamic(read: Read) -> Answer | None:
    if "PREEMPT_DYNAMIC" not in (read("/proc/version") or ""):
        return None
    doubt = "PREEMPT_DYNAMIC, and debugfs does not show whether it was switched since the boot"
    asked = re.findall(r"(?:^|\s)preempt=(none|voluntary|full|lazy)\b", read("/proc/cmdline") or "")
    if asked:
        return asked[-1], f"preempt={asked[-1]} on the command line; {doubt}"
    config, source = kernel_config(read)
    chosen = _configured(config)
    if chosen:
        return chosen, f"default of {source}; {doubt}"
    return unknown("PREEMPT_DYNAMIC, and neither debugfs nor a kernel configuration tells"), doubt


def _built_in(read: Read) -> Answer:
    config, source = kernel_config(read)
    chosen = _configured(config)
    if chosen:
        return chosen, source
    # From 6.13 on a lazy kernel also calls itself PREEMPT, so the word alone no longer decides.
    preemptible = re.search(r"\bPREEMPT\b", read("/proc/version") or "")
    if preemptible and (0, 0) < kernel_release(read) < (6, 13):
        return "full", "PREEMPT in /proc/version"
    reason = source.removeprefix("unknown: ") if is_unknown(source) else f"{source} names none"
    return unknown(f"/proc/version does not decide it, and {reason}"), reason


def _configured(config: dict[str, str]) -> str | None:
    models = {
        "PREEMPT_RT": "rt",
        "PREEMPT_LAZY": "lazy",
        "PREEMPT": "full",
        "PREEMPT_VOLUNTARY": "voluntary",
        "PREEMPT_NONE": "none",
    }
    return next((word for option, word in models.items() if config.get(option) == "y"), None)
