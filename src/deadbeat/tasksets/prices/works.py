"""What is priced: objects and resources without an object, by size and by the cores that share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attrs import evolve, field, frozen, validators

from deadbeat.base.model.platform import Platform, places_of
from deadbeat.tasksets.catalog import Catalog
from deadbeat.tasksets.model.tasks import Fragment, Kind

#: Calls of an object with a widely scattered price are repeated in a round, at most this often.
WEIGHT_MAX = 10
#: Works of a batch, of the runtime (runtime/src/host/price.c).
WORKS_MAX = 512


@frozen(kw_only=True, order=True)
class PriceWork:
    """An object or resource (a fragment) at one size, and the cores that are at it. ``operations``:
    in a call. ``cores``: logical ones, the first the victim; one core: alone. ``visit``: one
    operation, then about 0.5 us of own work; else without a pause. ``shared``: one object for all
    cores; a resource without an object is never."""

    object: str
    size: int = field(validator=validators.ge(1))
    operations: int = field(default=1, validator=validators.ge(1))
    cores: tuple[int, ...] = field(default=(0,), validator=validators.min_len(1))
    visit: bool = False
    shared: bool = True

    @property
    def line(self) -> str:
        """For the runtime (runtime/src/host/price.c)."""
        access, how = "shared" if self.shared else "local", "visit" if self.visit else "hammer"
        return f"{self.object} {self.size} {access} {how} {','.join(map(str, self.cores))}"


@frozen(kw_only=True)
class Pricing:
    """What a price stage is asked. ``works`` may name one several times: it gets as many slots.
    ``seconds``: of measuring; whole rounds, one at least."""

    works: tuple[PriceWork, ...]
    seconds: float
    policy: str = "fifo"
    seed: int = 1


def priced_fragments(catalog: Catalog, pool: str, *, layout: str = "default") -> list[Fragment]:
    """The objects that sets of a pool can draw, and the resources without an object."""
    names = dict.fromkeys(entry.fragment for entry in catalog.entries(pool, mode=layout))
    found = (catalog.fragments[name] for name in names)
    return [each for each in found if each.kind is Kind.SY or each.resource_class == "memory"]


def sizes_of(fragment: Fragment, pool: str) -> tuple[int, ...]:
    """Its two sizes: those of the quick pool, else the first two; all of the pool where the size is
    the length of a hold, by which a price goes. Of memory the largest."""
    if fragment.kind is not Kind.SY:
        return fragment.sizes[-1:]
    sizes = fragment.quick or fragment.sizes[:2]
    return sizes if pool == "quick" or fragment.size_unit == "operations" else fragment.sizes


def groups_of(cores: int, platform: Platform) -> list[tuple[int, ...]]:
    """Cores that are priced together: a pair for each way in which two of them are apart (one
    core, one cache, none), and all of them."""
    pairs: dict[tuple[object, ...], tuple[int, ...]] = {}
    for other in range(1, cores):
        own = places_of(platform.details.get("topology")).get(platform.cpus[0])
        if own is None:
            apart: tuple[object, ...] = ()
        else:
            cpu = platform.cpus[other]
            sizes = [cache.size_bytes or 0 for cache in own.caches if cpu in cache.cpus]
            apart = cpu in own.siblings, min(sizes, default=0)
        pairs.setdefault(apart, (0, other))
    every = tuple(range(min(cores, 64)))
    return [*pairs.values(), *([every] if cores > 2 else [])] or [(0,)]


def works_of(
    sized: Iterable[tuple[Fragment, Sequence[int]]],
    groups: Sequence[tuple[int, ...]],
    *,
    later: bool = False,
) -> Iterator[PriceWork]:
    """What is priced of fragments (each with its sizes), group by group: the second size where
    ``later``; else the first, with visits."""
    for fragment, sizes in sized:
        shared = fragment.kind is Kind.SY
        counted = fragment.size_unit == "operations"
        for cores in groups:
            for size in sizes[1:] if later else sizes[:1]:
                count = size if counted else 1  # of a call
                made = PriceWork(
                    object=fragment.name, size=size, operations=count, cores=cores, shared=shared
                )
                yield made
                if shared and not later and len(cores) < 3:
                    # a visit: one operation, then own work
                    yield evolve(made, size=1 if counted else size, operations=1, visit=True)
