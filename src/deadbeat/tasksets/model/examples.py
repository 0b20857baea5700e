"""Invented fragments and costs for tests, fakes and documentation; measured on no machine.

Everything here is a pure function of names and sizes, in integers, so that what is built on it
(golden files, the fake executor) is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256

from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.platform import example_platform
from deadbeat.tasksets.model.calibration import Calibration, Cost
from deadbeat.tasksets.model.tasks import Entry, Fragment, Kind

_NS_FLOOR_PS = 90_000
_SY_FLOOR_PS = 60_000


def example_fragments() -> tuple[Fragment, ...]:
    """Eight NS and six SY fragments, sorted by name; no such files need exist."""
    ns_sizes = {
        "bit_count": (16, 64, 256, 1024),
        "block_sad": (4, 8, 16, 32),
        "crc_32": (64, 256, 1024, 4096, 16384),
        "heap_sort": (16, 64, 256, 1024),
        "matmul": (4, 8, 16, 32, 64, 128),
        "pid_update": (1, 4, 16, 64),
        "pointer_chase": (256, 1024, 4096, 16384),
        "string_search": (64, 256, 1024, 4096),
    }
    sy_sizes: dict[str, tuple[int, ...]] = {
        "atomic_line": (1, 16),
        "event_fd": (1, 8),
        "mutex": (1, 4, 16),
        "pipe_token": (8, 64, 512),
        "semaphore": (1, 4),
        "spin_lock": (1, 4),
    }
    fragments = [_example(name, Kind.NS, sizes, sizes[::2]) for name, sizes in ns_sizes.items()]
    fragments += [_example(name, Kind.SY, sizes, sizes[:1]) for name, sizes in sy_sizes.items()]
    return tuple(sorted(fragments, key=lambda fragment: fragment.name))


def _example(name: str, kind: Kind, sizes: tuple[int, ...], quick: tuple[int, ...]) -> Fragment:
    computes = kind is Kind.NS
    return Fragment(
        name=name,
        kind=kind,
        summary=f"Example {'computation' if computes else 'synchronisation'} {name}",
        resource_class="compute-integer" if computes else name,
        sizes=sizes,
        size_unit="elements" if computes else "increments",
        quick=quick,
        blocking=None if computes else name not in ("atomic_line", "spin_lock"),
        hold="" if computes else "as many increments as its size",
        mixed_priorities=name != "spin_lock",
        origin="example",
        licence="Apache-2.0",
        path=f"{kind.lower()}/{name}.c",
    )


def example_entries(fragments: Iterable[Fragment]) -> dict[Entry, Kind]:
    """Every size of every fragment, with its kind: the argument of :func:`example_calibration`."""
    return {
        Entry(fragment.name, size): fragment.kind
        for fragment in fragments
        for size in fragment.sizes
    }


def example_calibration(entries: Mapping[Entry, Kind], *, cores: int = 2) -> Calibration:
    """A calibration with plausible invented costs, by name, rank of the size, and core.

    NS costs start at 90 to 270 ns and triple from size to size; SY costs start at 60 ns to 2.2 us
    and grow by half. The first use costs 5 to 35 % more than a repeat; cores differ by up to 2 %.
    ``entries``: entry -> kind; all sizes of a fragment, since the cost goes by their rank.
    """
    ranks = grouped(sorted(entries), lambda entry: entry.fragment)
    costs = {
        str(entry): tuple(
            _cost(entry, entries[entry], ranks[entry.fragment].index(entry), core)
            for core in range(cores)
        )
        for entry in sorted(entries)
    }
    return Calibration(
        platform=example_platform(cores),
        basis="warm",
        policy="fifo",
        pool="full",
        costs=costs,
        refused={},
        yardstick_ps=(100_000_000,) * cores,
        cache_line_ps={f"{a}-{b}": 60_000 for a in range(cores) for b in range(a + 1, cores)},
        made_at="2026-01-01T00:00:00Z",
        seconds=0.0,
    )


def _cost(entry: Entry, kind: Kind, rank: int, core: int) -> Cost:
    name_bits = int.from_bytes(sha256(entry.fragment.encode()).digest()[:8], "big")
    entry_bits = int.from_bytes(sha256(str(entry).encode()).digest()[:8], "big")
    if kind is Kind.NS:
        repeat = (_NS_FLOOR_PS + name_bits % (2 * _NS_FLOOR_PS)) * 3**rank
    else:
        # Squared, so that cheap user-space locks are as frequent as system calls.
        spread = name_bits % 1000
        repeat = (_SY_FLOOR_PS + spread * spread * 2_150 // 1000) * 3**rank // 2**rank
    repeat += repeat * (entry_bits % 97) // 1000 + repeat * (core % 3) // 100
    first = repeat + repeat * (5 + entry_bits % 31) // 100 + 20_000
    parts = {
        "first": (first, first // 200),
        "again": ((first + repeat) // 2, first // 200),
        "repeat": (repeat, repeat // 200),
    }
    values = {f"{part}_ps": mean for part, (mean, _) in parts.items()}
    values |= {f"{part}_low_ps": mean - half for part, (mean, half) in parts.items()}
    values |= {f"{part}_high_ps": mean + half for part, (mean, half) in parts.items()}
    return Cost(**values, samples=20, rejected=0)
