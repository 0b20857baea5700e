"""Long calls into the core, which looks at no signal: in a thread, so that Ctrl-C ends them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from deadbeat.cli._output import say
from deadbeat.cli._signals import interruptible

T = TypeVar("T")

#: After this a person wants to know that something is going on.
_PATIENCE_S = 3.0


def patiently(work: Callable[[], T], doing: str) -> T:
    """What ``work`` returns or raises; says ``doing`` when it takes long.

    On KeyboardInterrupt (also by SIGTERM) the thread is left behind: it holds nothing, and ends
    with the process.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # raised again below, by whoever waits
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    with interruptible():
        thread.start()
        thread.join(_PATIENCE_S)
        if thread.is_alive():
            say(f"{doing} (Ctrl-C stops)")
        while thread.is_alive():
            thread.join(1.0)
    if errors:
        raise errors[0]
    return results[0]
