"""What a campaign tells whoever watches; nothing is told while a run is in progress."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from deadbeat.model.results import RunKey


@frozen(kw_only=True)
class Phase:
    """A step before the runs began, or went on: ``share`` of it is done."""

    name: str  #: calibration or build
    share: float = 0.0


@frozen(kw_only=True)
class Started:
    """The runs begin: ``done`` of ``total`` were there already, ``failed`` are left alone.

    Attributes:
        decided: Points that get no further set, and all points, where each stops when it is known;
            ``total`` is then the most there can be, after a run an estimate.
    """

    total: int
    done: int
    failed: int
    eta_s: float
    decided: tuple[int, int] | None = None


@frozen(kw_only=True)
class RunDone:
    """A run was committed; ``decided`` as in `Started`."""

    key: RunKey
    done: int
    total: int
    eta_s: float
    decided: tuple[int, int] | None = None


@frozen(kw_only=True)
class RunFailed:
    """A run has no result; it is kept as failed and not tried again in this session."""

    key: RunKey
    reason: str
    done: int
    total: int
    eta_s: float


@frozen(kw_only=True)
class Finished:
    """No run is left to do."""

    done: int
    failed: int


Event = Phase | Started | RunDone | RunFailed | Finished
Watcher = Callable[[Event], None]
