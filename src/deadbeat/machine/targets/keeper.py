"""A shell on a target that outlives whoever started it, to put right what they could not; and what
else we are there.

It sleeps on its standard input, which the kernel ends with the process that holds the other end,
however that process dies; over a connection, with the connection.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from deadbeat.base.model.errors import TargetError
from deadbeat.machine.targets.base import Target, is_here

#: In a session of its own, where there is setsid: a signal to the whole group is not for it.
_START = 'command -v setsid >/dev/null && exec setsid sh -c "$0" "$@"; exec sh -c "$0" "$@"'
_WAIT = "trap '' HUP INT TERM QUIT; read -r word && [ \"$word\" = done ] && exit 0\n"
DONE = "done"
#: Removes the folder of a killed process; what measured there has half a second to end.
REMOVE = 'for try in 1 2 3 4 5; do rm -rf -- "$0"; [ -e "$0" ] || exit 0; sleep 0.1; done'


def keeper(script: str, *words: str) -> tuple[str, ...]:
    """The command of a shell that runs ``script`` once its standard input ends without `DONE`.

    Args:
        script: POSIX shell; ``$0`` and ``$@`` are ``words``.
    """
    return ("sh", "-c", _START, _WAIT + script, *words)


@contextmanager
def keeping(target: Target, script: str, *words: str) -> Iterator[None]:
    """Has ``script`` run on ``target`` if this process dies inside the block."""
    process = target.start(keeper(script, *words))
    try:
        yield
    finally:
        with suppress(TargetError):  # it is gone: there is nothing to call off
            process.write_line(DONE)
            process.close()


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
    Raises TargetError: nothing can be run there."""
    if is_here(target):
        return os.getpid()
    chain = ("sh", "-c", _CHAIN)
    ran = target.run(chain).stdout.split()
    with target.start(chain) as process:  # which need not go the same way
        started = process.close(_PATIENCE_S).stdout.split()
    common = [word for word in ran if word in started and word.isdecimal()]
    return int(common[0]) if common else None
