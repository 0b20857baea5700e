"""Which preemption models a kernel has, by its build configuration.

The words are those of ``preempt=``; "rt" is PREEMPT_RT, with which a kernel is built.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import frozen

#: From the first version on that takes the word (Linux: kernel/sched/core.c, sched_dynamic_mode).
_DYNAMIC, _LAZY, _RESTRICTED = (5, 12), (6, 13), (7, 0)
_BUILT = (
    ("PREEMPT_RT", "rt"),
    ("PREEMPT_LAZY", "lazy"),
    ("PREEMPT", "full"),
    ("PREEMPT_VOLUNTARY", "voluntary"),
    ("PREEMPT_NONE", "none"),
)


@frozen(kw_only=True)
class Preemption:
    """Preemption models of a kernel.

    Attributes:
        default: Without a word on its command line; "" where nobody knows.
        choices: What ``preempt=`` takes; none where the model is built in.
    """

    default: str = ""
    choices: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        """All that it can run with."""
        if self.default == "rt":
            return ("rt",)
        return self.choices or ((self.default,) if self.default else ())


def preemption(
    options: Mapping[str, str], version: tuple[int, int], banner: str = ""
) -> Preemption:
    """Models of a kernel.

    Args:
        options: Its configuration, without ``CONFIG_``; empty where it is not known.
        version: Major and minor number.
        banner: What it says of its build, for what a missing configuration does not say.
    """
    known = dict(options)
    for word in ("PREEMPT_RT", "PREEMPT_DYNAMIC"):
        if word in banner.replace("PREEMPT RT", "PREEMPT_RT"):
            known.setdefault(word, "y")
    if not options and version >= _LAZY and "x86" in banner:
        known["ARCH_HAS_PREEMPT_LAZY"] = "y"
    default = next((word for option, word in _BUILT if known.get(option) == "y"), "")
    if known.get("PREEMPT_DYNAMIC") != "y" or version < _DYNAMIC:
        return Preemption(default=default)
    realtime = known.get("PREEMPT_RT") == "y"
    lazy = known.get("ARCH_HAS_PREEMPT_LAZY") == "y"
    old = () if realtime or (lazy and version >= _RESTRICTED) else ("none", "voluntary")
    return Preemption(default=default, choices=(*old, "full", *(("lazy",) if lazy else ())))


def expected(flavour: str, release: str) -> Preemption:
    """Models of a Debian kernel that is not here, as its neighbours have them.

    Args:
        flavour: ``rt-amd64``. ``release``: begins with its version.
    """
    numbers = re.match(r"(\d+)\.(\d+)", release)
    version = (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)
    x86 = "amd64" in flavour
    lazy = version >= _LAZY
    options = {
        "PREEMPT_RT": "y" if flavour.startswith("rt-") else "",
        "PREEMPT_DYNAMIC": "y" if x86 and version > (5, 10) else "",
        "ARCH_HAS_PREEMPT_LAZY": "y" if lazy else "",
        "PREEMPT_LAZY": "y" if lazy else "",
        "PREEMPT_VOLUNTARY": "y",
    }
    return preemption(options, version)
