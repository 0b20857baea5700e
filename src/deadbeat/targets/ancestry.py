"""The process on a target under which everything runs that is asked of it."""

from __future__ import annotations

import os

from deadbeat.targets.base import Target, is_here

_PATIENCE_S = 20.0
#: Numbers of a shell and its ancestors, the nearest first.
_CHAIN = r"""
p=$$
while [ "$p" -gt 1 ]; do
    echo "$p"
    read -r line </proc/$p/stat || break
    set -- ${line##*) }
    p=$2
done"""


def process_on(target: Target) -> int | None:
    """This process, or what serves its connection there; it ends with it. None: not known.

    Raises:
        TargetError: Nothing can be run there.
    """
    if is_here(target):
        return os.getpid()
    chain = ("sh", "-c", _CHAIN)
    ran = target.run(chain).stdout.split()
    with target.start(chain) as process:  # which need not go the same way
        started = process.close(_PATIENCE_S).stdout.split()
    common = [word for word in ran if word in started and word.isdecimal()]
    return int(common[0]) if common else None
