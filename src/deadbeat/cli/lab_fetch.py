"""What ``deadbeat list kernels`` and ``deadbeat lab fetch`` do."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import DeadbeatError, TargetError, UsageError
from deadbeat.base.model.words import Json, count_of, duration, size
from deadbeat.cli._output import say, table
from deadbeat.cli._progress import Watch
from deadbeat.lab.kernels import Fetched, Kernel, disk_needed, expected, fetched, here
from deadbeat.lab.kernels import fetch as get
from deadbeat.lab.offers import MACHINES, Offer, Offers, chosen, newest, offers
from deadbeat.lab.presets import PRESETS
from deadbeat.lab.qemu import find_qemu


def listed(*, machine: str, show_all: bool) -> Shown:
    # What the mirror has; nothing, and a line that says why, where it does not answer and never
    # did, but kernels are here.
    try:
        found = offers(MACHINES[machine], say=say)
    except TargetError as error:
        if not fetched(MACHINES[machine]):
            raise
        say(str(error))
        found = Offers()
    there = {each.name: each for each in fetched(MACHINES[machine])}
    rows = [_plain(each) for each in there.values()]
    rows += [_plain(each) for each in found.kernels if each.name not in there]
    order = {each.name: number for number, each in enumerate(found.kernels)}
    rows.sort(key=lambda row: order.get(str(row["release"]), -1))
    last = {each.name for each in newest(found.kernels)}
    shown = [row for row in rows if show_all or row["fetched"] or row["release"] in last]
    columns = ("name", "release", "preemption", "size", "here", "package", "from")
    lines = [
        (
            *(str(row[key]) for key in ("name", "release")),
            _models(row),
            size(float(str(row["bytes"]))),
            "yes" if row["fetched"] else "-",
            *(str(row[key]) for key in ("version", "suite")),
        )
        for row in shown
    ]
    words = f"{count_of(len(rows), 'kernel')} for {machine}, {len(there)} here"
    more = "" if len(shown) == len(rows) else f"; {len(rows) - len(shown)} older: --all"
    return Shown(
        plain={"machine": machine, "kernels": rows, "refused": list(found.refused)},
        parts=[
            table(columns, lines, numeric=("size",)),
            lambda: say(words + more),
        ],
        headline=words,
    )


def _models(row: dict[str, Json]) -> str:
    models, default = row["models"], row["default"]
    assert isinstance(models, list)
    return " ".join(f"{each}*" if each == default and len(models) > 1 else each for each in models)


def _plain(each: Kernel | Offer) -> dict[str, Json]:
    if isinstance(each, Kernel):
        models, size_bytes = each.preemption, each.image.stat().st_size
    else:
        models, size_bytes = expected(each.flavour, each.name), each.size
    return {
        "name": each.label,
        "release": each.name,
        "machine": each.machine,
        "flavour": each.flavour,
        "version": each.version,
        "suite": each.suite,
        "models": list(models.models),
        "default": models.default,
        "bytes": size_bytes,
        "fetched": isinstance(each, Kernel),
    }


def fetch(*, names: Sequence[str], machine: str) -> Shown:
    words = [
        word for name in names for word in (PRESETS[name].kernels if name in PRESETS else [name])
    ]
    wanted = _wanted(words, MACHINES[machine])
    machines = dict.fromkeys(each[0].machine for each in wanted)
    emulators = [find_qemu(each, say=say) for each in machines]
    download, stays = disk_needed(wanted)
    lacking = f"{size(download)} to download, at most {size(stays)} stay on the disk"
    say(f"fetch {count_of(len(wanted), 'kernel')}: " + (lacking if stays else "all are here"))
    got = got_kernels(wanted)
    lines = [(each.label, each.name, each.version, each.suite) for each in got.kernels]
    return Shown(
        plain={
            "kernels": [_plain(each) for each in got.kernels],
            "refused": dict(got.refused),
            "emulators": [each.identification for each in emulators],
        },
        parts=[table(("kernel", "release", "package", "from"), lines)],
        headline=f"{count_of(len(got.kernels), 'kernel')} here",
        status=DeadbeatError.exit_status if len(got.kernels) < len(wanted) else 0,
    )


def got_kernels(wanted: Sequence[Sequence[Offer]]) -> Fetched:
    """Fetches kernels, tells how far it is, and what cannot be had.
    Raises DeadbeatError: none can be had."""
    began, last = time.monotonic(), ""

    def show(share: float, words: str) -> None:
        """How far it is, a line for each kernel without a terminal."""
        nonlocal last
        left = (time.monotonic() - began) * (1 / share - 1) if share else 0.0
        name = words.partition(",")[0]
        words += f", {duration(left)} left" if left >= 1 else ""
        watch.share(share, words, tell=name != last)
        last = name

    with Watch("fetch") as watch:
        got = get(wanted, report=show)
    for why in got.refused.values():
        say(why)
    if wanted and not got.kernels:
        raise DeadbeatError("none of these kernels can be had", "their reasons stand above")
    return got


def needed(words: Sequence[str], machine: str) -> tuple[Kernel, ...]:
    """Kernels for words, in their order: those that are here, the others fetched.

    Raises:
        UsageError: A word means none.
        DeadbeatError: None can be had.
    """
    found = [here(word) for word in words]
    if None not in found:
        return tuple(filter(None, found))
    return got_kernels(_wanted(words, machine)).kernels


def _wanted(words: Sequence[str], machine: str) -> list[tuple[Offer, ...]]:
    """Kernels for words; a word's own architecture counts, where it names one."""
    found: dict[str, tuple[Offer, ...]] = {}
    for word in words:
        parts = word.split("-")
        own = next((each for debian, each in MACHINES.items() if debian in parts), machine)
        for choices in chosen(word, offers(own, say=say).kernels):
            found[choices[0].name] = choices
    return list(found.values())


def kernels_of(names: str, file: Path | None, machine: str) -> list[Kernel]:
    """The kernels that are asked for; those that are not here are fetched."""
    found = [] if file is None else [Kernel.of_file(file)]
    words = [word for word in names.split(",") if word]
    found += needed(words, machine) if words else ()
    if not found:
        raise UsageError("no kernel is named", "--kernels LIST: deadbeat list kernels shows them")
    for each in {each.machine for each in found}:
        find_qemu(each, say=say)
    return found
