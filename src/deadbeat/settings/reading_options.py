"""Build options and files that may not be there, as several checks ask for them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deadbeat.host import kernel
from deadbeat.host.values import UnreadError
from deadbeat.settings.check import CheckVerdict, failed, passed
from deadbeat.settings.facts import Facts
from deadbeat.settings.reading_values import absent


def built(facts: Facts, *names: str) -> list[str]:
    """Those of ``names`` that the kernel was built with, as its configuration has them."""
    return [f"CONFIG_{n}={facts.option(n)}" for n in names if facts.option(n) != "n"]


def without(facts: Facts, names: Sequence[str], reason: str) -> CheckVerdict:
    """Passes where the kernel has none of ``names``; else fails with ``reason``."""
    there = built(facts, *names)
    return failed(", ".join(there), reason) if there else passed("not set")


def having(facts: Facts, name: str, reason: str) -> CheckVerdict:
    """Passes where the kernel has ``name``; else fails with ``reason``."""
    there = built(facts, name)
    return passed(there[0]) if there else failed(f"CONFIG_{name} is not set", reason)


def lacking(facts: Facts, path: str) -> bool:
    """Whether a file does not exist. One that is refused does.

    UnreadError where /proc itself is not there, and so nothing says anything."""
    facts.text("/proc/cmdline")
    return absent(facts, path)


def numbers(facts: Facts, pattern: str) -> dict[str, int]:
    """Path -> the number in it. UnreadError where one holds none."""
    found = {}
    for path, text in facts.texts(pattern).items():
        if not re.fullmatch(r"-?\d+", text):
            raise UnreadError(f"{path} holds {text[:40]!r}, not a number")
        found[path] = int(text)
    return found


def realtime(facts: Facts) -> bool:
    """Whether this is a PREEMPT_RT kernel; needs REALTIME among what is read."""
    return bool(
        facts.get(REALTIME[0]) == "1"
        or re.search(r"\bPREEMPT[_ ]RT\b", facts.get(REALTIME[1]) or "")
    )


#: Files that `realtime` reads.
REALTIME = (kernel.REALTIME, kernel.VERSION)
