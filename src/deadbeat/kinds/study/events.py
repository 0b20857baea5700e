"""What a study tells whoever watches."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen


@frozen
class Progress:
    """``done`` of ``total`` task sets are stored; about ``eta_s`` seconds are left."""

    done: int
    total: int
    eta_s: float


Watcher = Callable[[Progress], None]
