"""What kernel files hold, as values: the chosen word, CPU masks, lists of CPUs in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deadbeat.host.kernel import VERSION, release_of
from deadbeat.host.values import UnreadError, chosen, cpus_text
from deadbeat.settings.check import CheckVerdict, unknown
from deadbeat.settings.facts import DMESG, Facts
from deadbeat.targets.readings import MISSING, is_pattern

ONLINE = "/sys/devices/system/cpu/online"
LOCKDOWN = "/sys/kernel/security/lockdown"


def absent(facts: Facts, path: str) -> bool:
    """Whether ``path`` does not exist; what was refused may."""
    return facts.reading(path).reason == MISSING


def housekeeping(facts: Facts) -> tuple[int, ...]:
    """CPUs that are online and not meant for real-time tasks.

    UnreadError where none is left: nothing could go elsewhere."""
    left = tuple(cpu for cpu in facts.cpu_list(ONLINE) if cpu not in facts.rt_cpus)
    if not left:
        raise UnreadError(
            f"every CPU ({cpus_text(facts.rt_cpus)}) is meant for real-time tasks: none is left"
            " for the rest; name fewer with --rt-cpus"
        )
    return left


def shared(facts: Facts, cpus: Iterable[int]) -> list[int]:
    """Those of ``cpus`` that are meant for real-time tasks."""
    return sorted(set(cpus) & set(facts.rt_cpus))


def few(names: Sequence[str], *, most: int = 4) -> str:
    """``a, b, c and 12 more``."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def release(facts: Facts) -> tuple[int, int]:
    """Major and minor number of the kernel. UnreadError where it is not known."""
    found = release_of(facts.text(VERSION))
    if found == (0, 0):
        raise UnreadError(f"{VERSION} names no release")
    return found


def lockdown(facts: Facts) -> str | None:
    """``none``, ``integrity`` or ``confidentiality``; "on" where only the log tells; None: unknown.

    Whoever asks reads LOCKDOWN and the log: securityfs need not be mounted."""
    mode = facts.get(LOCKDOWN)
    if mode is not None:
        return chosen(mode)
    log = facts.get(DMESG)
    return "on" if log is not None and "Kernel is locked down" in log else None


def shut(facts: Facts, path: str, meanwhile: str = "") -> CheckVerdict:
    """Unknown: a file or pattern of debugfs that is not there or was refused, with the reason.

    Args:
        meanwhile: What to assume as long as it is not known.
    """
    if is_pattern(path):
        reasons = [f"{p}: {r.reason}" for p, r in facts.matches(path).items() if r.text is None]
        reason = next(iter(reasons), f"nothing is called {path}")
    else:
        reason = f"{path}: {facts.reading(path).reason}"
    mode = lockdown(facts)
    closed = f"the kernel is locked down ({mode})" if mode not in (None, "none") else ""
    return unknown(
        "; ".join(filter(None, (reason, closed or "debugfs: root only, where mounted", meanwhile)))
    )
