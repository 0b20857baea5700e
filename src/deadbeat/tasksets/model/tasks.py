"""Tasks, segments and resources. Time is integer nanoseconds (``_ns``) or picoseconds (``_ps``)."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from typing import Annotated

from attrs import frozen

#: Other whole numbers that are stored have 63 bits.
Seed = Annotated[int, "of 64 bits"]


class Kind(StrEnum):
    """What a fragment or segment does."""

    NS = "NS"  #: computation: no synchronisation
    SY = "SY"  #: synchronisation


class Access(StrEnum):
    """Which instance of a resource an SY use is bound to."""

    CON = "CON"  #: contended: one object for the whole task set
    PAR = "PAR"  #: parallel: one object per core


@frozen(kw_only=True)
class Fragment:
    """Entry of a pool, as its front matter states it.

    Attributes:
        name: File name without suffix; a C identifier.
        resource_class: NS: character of the work; SY: the class of object it uses.
        sizes: Sizes at which it is calibrated, ascending.
        size_unit: What one unit of size is.
        quick: Sizes that belong to the ``quick`` sub-pool (may be empty).
        requires: Facilities of the machine it cannot do without.
        modes: Layouts in which it may be used (``default`` or ``shared-address-space``).
        blocking: SY: whether a task can be suspended in it.
        hold: SY: what is done while the token is held, in words.
        parallel: SY: whether it is offered as core-local (PAR).
        mixed_priorities: SY: may be used by tasks of different priority on one core.
        origin: Where the algorithm comes from.
        tacle: The TACLeBench kernel it corresponds to, or "".
        licence: SPDX identifier.
        tsan: Whether ThreadSanitizer models what it uses.
        path: Source file relative to the folder of pools.
    """

    name: str
    kind: Kind
    summary: str
    resource_class: str
    sizes: tuple[int, ...]
    size_unit: str
    quick: tuple[int, ...] = ()
    requires: tuple[str, ...] = ()
    modes: tuple[str, ...] = ("default",)
    blocking: bool | None = None
    hold: str = ""
    parallel: bool = True
    mixed_priorities: bool = True
    origin: str
    tacle: str = ""
    licence: str
    tsan: bool = True
    path: str = ""

    def fits(self, layout: str) -> bool:
        """Whether it may be used in ``layout``: what runs in the default one runs in any."""
        return "default" in self.modes or layout in self.modes


@frozen(order=True)
class Entry:
    """A fragment at one size: the unit of calibration. Written ``name/size``."""

    fragment: str
    size: int

    def __str__(self) -> str:
        return f"{self.fragment}/{self.size}"


@frozen
class FragmentUse:
    """A fragment, a size, how often, and the resource it is bound to (index into the set's)."""

    entry: Entry
    repeats: int
    resource: int | None = None


@frozen
class Segment:
    """Part of a task of one kind. ``budget_ps`` is asked, ``cost_ps`` realised by calibration."""

    kind: Kind
    budget_ps: int
    cost_ps: int
    uses: tuple[FragmentUse, ...]


@frozen
class Resource:
    """An object of the class of an SY fragment; ``core`` None means contended by the whole set."""

    fragment: str
    core: int | None

    @property
    def access(self) -> Access:
        return Access.CON if self.core is None else Access.PAR


@frozen(kw_only=True)
class Task:
    """A recurrent activity: C, T, D and offset in ns, bound to logical core ``core``.

    Attributes:
        critical: Whether figures of the set are about it; not so if it only fills a core.
    """

    name: str
    core: int
    wcet_ns: int
    period_ns: int
    deadline_ns: int
    offset_ns: int
    priority: int
    seed: Seed
    segments: tuple[Segment, ...]
    critical: bool = True

    @property
    def uses(self) -> list[FragmentUse]:
        """Uses of all its segments, in order."""
        return [use for segment in self.segments for use in segment.uses]

    @property
    def cost_ps(self) -> int:
        """Realised cost by calibration, in ps."""
        return sum(segment.cost_ps for segment in self.segments)

    @property
    def utilisation(self) -> Fraction:
        return Fraction(self.wcet_ns, self.period_ns)


@frozen(kw_only=True)
class TaskSet:
    """Tasks and the resources they share.

    Attributes:
        cores: Number of logical cores used, M.
        sync_share, contended_ratio: rho and alpha as asked, in [0, 1]; means over the critical
            tasks where each has its own.
        sync_share_real: Realised share of the critical tasks' cost in SY uses; where each task has
            its own rho, the mean of theirs.
        contended_ratio_real: Realised share of SY cost bound to contended objects (0 if no SY);
            where each task has its own alpha, the mean of those that synchronise.
    """

    cores: int
    tasks: tuple[Task, ...]
    resources: tuple[Resource, ...]
    seed: Seed
    generator: str
    sync_share: Fraction
    contended_ratio: Fraction
    sync_share_real: float
    contended_ratio_real: float
