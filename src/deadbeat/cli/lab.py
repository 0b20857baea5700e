"""What ``deadbeat lab run`` does, and what it shares with ``lab sweep``."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import attrs
from attrs import define, field, frozen

from deadbeat.build.native import verb_program
from deadbeat.build.toolchain import toolchain_for
from deadbeat.cli._measure import answered, summarising, written_in
from deadbeat.cli._options import budget_seconds, to_repeat, words_typed
from deadbeat.cli._output import say
from deadbeat.cli._progress import Watch
from deadbeat.cli._signals import Reported
from deadbeat.cli.lab_fetch import kernels_of, needed
from deadbeat.cli.plot import drawn_plot
from deadbeat.cli.series import answer
from deadbeat.experiment.base import Event, Phase, RunDone, Started
from deadbeat.experiment.run import in_series
from deadbeat.experiment.run import run as carry_out
from deadbeat.kinds.base import Begin, Shown
from deadbeat.kinds.latency.guest import (
    IGNORED,
    WORKERS,
    Boots,
    GuestExperiment,
    platform_of,
    require_possible,
)
from deadbeat.kinds.latency.kind import FOLDERS, KIND
from deadbeat.kinds.latency.spec import LatencySpec, read_spec, resolve, spec_dict, specify
from deadbeat.kinds.registry import kind_of
from deadbeat.lab.boot import Mode
from deadbeat.lab.guest import Guest, kvm_works
from deadbeat.lab.job import PROGRAM, ImageFile, Job, files_below
from deadbeat.lab.kernels import Kernel
from deadbeat.lab.offers import MACHINES
from deadbeat.lab.presets import PRESETS, LabPreset
from deadbeat.lab.qemu import find_qemu
from deadbeat.lab.rootfs import Rootfs
from deadbeat.model.errors import DeadbeatError, TargetError, UsageError
from deadbeat.model.platform import Platform
from deadbeat.model.words import Json, count_of, inside, nearest, shown
from deadbeat.store.files import read_toml
from deadbeat.store.latency import LatencyStore
from deadbeat.store.place import MATRIX, Place, family, point_latest

MODELS = ("none", "voluntary", "full", "lazy")
#: What kernels are compared by: every further metric makes a decision of these need more seeds.
_METRICS = ("p99", "max")


@frozen(kw_only=True)
class LabSide:
    """One kernel with one command line, and where its results go."""

    name: str
    guest: Guest


@define
class Together:
    """Matrices with boots that wait in one queue, in the order they were added.

    Attributes:
        name: What is said of them.
        kept: Boots that are stored. ``total``: of all. ``lost``: those without a result.
    """

    name: str
    experiments: list[GuestExperiment] = field(factory=list)
    kept: int = 0
    total: int = 0
    lost: int = 0
    _clock: Callable[[], float] = field(default=time.monotonic, kw_only=True)
    _first: tuple[float, int] | None = None

    def add(self, experiment: GuestExperiment) -> None:
        self.experiments.append(experiment)
        self.total += len(experiment.planned)
        self.kept += len(experiment.planned) - len(experiment.lacking)

    @property
    def kept_words(self) -> str:
        return f"{self.kept} of {self.total} boots are kept" if self.total else "nothing is lost"

    def measured(self, left_s: Callable[[], float | None] = lambda: None) -> Iterator[Path]:
        """Boots what is lacking; the folder of each matrix as it is complete.

        Args:
            left_s: What is left of a budget, of which each gets its part.
        """
        if not self.experiments:
            return
        what = f"{count_of(len(self.experiments), 'kernel')}, {self._left} of {self.total} boots"
        say(f"{self.name}: {what} to go")
        for experiment in self.experiments:
            experiment.begin()
        with Watch(self.name, unit=GuestExperiment.unit) as watch:
            watch(Started(total=self.total, done=self.kept, eta_s=self._eta_s()))
            for left, experiment in zip(
                range(len(self.experiments), 0, -1), self.experiments, strict=True
            ):
                path, rest_s = experiment.store.path, left_s()
                point_latest(path.parent, path.name)
                budget_s = None if rest_s is None else rest_s / left
                carry_out(
                    experiment,
                    on_event=lambda event: self._tell(event, watch),
                    budget_s=budget_s,
                )
                yield path
        if self._left > 0:
            say(f"the time is over, {self.kept_words}: the same command continues")

    @property
    def _left(self) -> int:
        return self.total - self.kept - self.lost

    def _tell(self, event: Event, watch: Watch) -> None:
        """Passes on what became of a boot."""
        if isinstance(event, Started | Phase):
            return
        if self._first is None:
            self._first = self._clock(), self._left - 1
        if isinstance(event, RunDone):
            self.kept += 1
            event = attrs.evolve(event, done=self.kept, total=self.total, eta_s=self._eta_s())
        else:
            self.lost += 1
        watch(event)

    def _eta_s(self) -> float:
        """Seconds left: by the pace since the first boot ended, before by the plan."""
        if self._first and (ended := self._first[1] - self._left) > WORKERS:
            return self._left * (self._clock() - self._first[0]) / ended
        return sum(each.seconds(len(each.lacking)) for each in self.experiments)


@frozen(kw_only=True)
class Asked:
    """How kernels are measured, whichever they are; what is left are options of a latency matrix.

    Attributes:
        command: As it is typed, without options.
    """

    command: str
    name: str
    cmdline: str
    seeds: int
    seed: int
    cpus: int
    memory: int
    mode: Mode
    fresh: bool
    retry: bool
    figures: bool | None
    runs: Path
    matrix: Mapping[str, str | None]
    extra: Mapping[str, ImageFile] = field(factory=dict)
    time_budget: str | None = None
    fail_on: tuple[str, ...] = ()
    started: float = field(factory=time.monotonic)

    def left_s(self) -> float | None:
        """What is left of ``--time-budget``."""
        if self.time_budget is None:
            return None
        return max(0.0, self.started + budget_seconds(self.time_budget) - time.monotonic())

    def spec(self) -> LatencySpec:
        """The matrix of each; UsageError names what is wrong with it."""
        base = {"loads": "mixed", "duration": "2s", "engines": "prober"}
        called = {"limits": "deadlines", "engine": "engines"}
        typed = {called.get(key, key): value for key, value in self.matrix.items()}
        layer = {key: value for key, value in typed.items() if value is not None}
        fixed: dict[str, Json] = {"name": self.name}
        fixed |= {"repeats": self.seeds, "seed": self.seed}
        names = {key: f"--{key}" for key in self.matrix}
        names |= {"deadlines": "--limits", "engines": "--engine", "name": "--name"}
        wanted = specify(base, layer, fixed, names=names)
        return resolve(
            wanted, engines={"prober": "", "hpet": ""}, cpus=tuple(range(self.cpus)), names=names
        )

    def side(self, name: str, kernel: Kernel, words: str, services: str = "") -> LabSide:
        """A kernel with words for its command line, and processes beside what measures."""
        argv = (PROGRAM, "load", *services.split())
        guest = Guest(
            qemu=find_qemu(kernel.machine, say=say),
            kernel=kernel,
            program=verb_program(toolchain_for(kernel.machine)),
            words=" ".join(f"{words} {self.cmdline}".split()),
            mode=self.mode,
            cpus=self.cpus,
            memory=self.memory,
            extra=self.extra,
            preset=Job().start("services", argv) if services else Job(),
        )
        # A release has signs that no result may have in its name.
        return LabSide(name=re.sub(r"[^\w.-]", "-", f"{self.name}-{name}"), guest=guest)

    def measured(self, sides: Sequence[LabSide], spec: LatencySpec) -> list[Path]:
        """Folders of the sides that have a result, after all that was lacking has been measured."""
        for side in sides:
            require_possible(spec, side.guest)
        if self.mode == "kvm":
            _require_kvm(sides)
        stores = {side.name: [] if self.fresh else _stores(side, self.runs) for side in sides}
        done: dict[str, Path] = {}
        together, begun = Together(self.name), list[str]()
        try:
            with Boots() as boots:
                for side, platform in _looked(sides, stores, boots):
                    if not changed(side, platform, sides[0]):
                        continue
                    own = attrs.evolve(spec, name=side.name)
                    place = self._place(side, own, platform)
                    if place.finished:
                        done[side.name] = place.path
                        continue
                    store = LatencyStore.open(place.path)
                    together.add(
                        GuestExperiment(
                            own, side.guest, boots, store=store, retry_invalid=self.retry
                        )
                    )
                    begun.append(side.name)
                if not done and not begun:
                    raise DeadbeatError("no kernel could be booted", "their last words stand above")
                for name, path in zip(begun, together.measured(self.left_s), strict=True):
                    with summarising(path, KIND):
                        if not KIND.report(path, bool(self.figures)).empty:
                            done[name] = path
        except KeyboardInterrupt:
            typed = to_repeat(words_typed(self.command), retrying=True)
            say(f"interrupted: {together.kept_words}; continue with: {typed}")
            raise Reported from None
        return [found for side in sides if (found := done.get(side.name))]

    def _place(self, side: LabSide, spec: LatencySpec, platform: Platform) -> Place:
        """Where the matrix of a side is: begun, to be continued, or finished."""
        facts = side.guest.facts
        place = FOLDERS.choose(
            self.runs,
            spec,
            platform,
            differs=lambda store: (
                f"was begun with another {key.replace('_', ' ')}"
                for key, value in facts.items()
                if store.facts.get("lab", {}).get(key) != value
            ),
            fresh=self.fresh,
            retry=self.retry,
            keep=side.guest.mode == "virtual-time" and not self.fresh,
        )
        if not place.resumed:
            LatencyStore.create(place.path, spec_dict(spec), platform, lab=facts)
        return place


def run(
    *,
    kernels: str,
    preset: str | None,
    kernel: Path | None,
    initrd_extra: Path | None,
    rootfs: Path | None,
    preempt: str,
    machine: str,
    campaign: Path | None,
    **asked: Any,
) -> Shown:
    how = asked_of("lab run", added=files_below(initrd_extra), **asked)
    if campaign is not None:
        if preset or initrd_extra or rootfs or how.cmdline:
            raise UsageError(
                "--file compares kernels and preemption models alone",
                "leave --preset, --initrd-extra, --rootfs, --cmdline out",
            )
        lines = [
            (each, *line)
            for each in kernels_of(kernels, kernel, MACHINES[machine])
            for line in _command_lines(each, preempt)
        ]
        return _campaigns(campaign, lines, how, machine)
    spec = how.spec()
    question = PRESETS[preset] if preset else None
    if question is not None:
        if kernels or kernel or preempt or rootfs:
            raise UsageError(
                "--preset names its kernels itself",
                "leave --kernels, --kernel, --preempt, --rootfs out",
            )
        sides = _sides_of(question, how)
    else:
        system = Rootfs.read(rootfs) if rootfs else None
        sides = [
            how.side(name, each, words)
            for each in kernels_of(kernels, kernel, MACHINES[machine])
            for name, words in _command_lines(each, preempt)
        ]
        sides = [*_beside(sides, system)] if system else sides
    paths = how.measured(sides, spec)
    if question is not None and question.ranked and len(paths) > 1:
        folder = how.runs / f"plot-{how.name}-{preset}"
        return drawn_plot("effects", paths, folder, figures=bool(how.figures), strip=f"{how.name}-")
    found = answer(paths, runs=how.runs, figures=how.figures, metrics=_METRICS, fail_on=how.fail_on)
    if rootfs is not None:
        return _saying(found, map(_inventory_words, paths))
    names = [f"{how.name}-{each}" for each in question.also] if question else []
    own = [path for name in names for path in paths if _name_of(path) == name]
    if len(own) < 2:
        return found
    also = answer(own, runs=how.runs, figures=how.figures, metrics=_METRICS)
    assert also.document is not None
    found = _saying(found, also.document.answer)
    return attrs.evolve(found, lines=(*found.lines, f"page: {also.page}"))


def _name_of(path: Path) -> str:
    """What a matrix was asked for as; its folder may have a number behind it."""
    return read_spec(LatencyStore.open(path).spec).name


def _saying(found: Shown, lines: Iterable[str]) -> Shown:
    """A comparison that says more beside its own verdict."""
    assert found.document is not None
    document = attrs.evolve(found.document, answer=[*found.document.answer, *lines])
    return attrs.evolve(found, document=document)


def _beside(sides: Sequence[LabSide], system: Rootfs) -> Iterator[LabSide]:
    """Each machine without and with ``system``, with memory for it: it is there twice while it is
    unpacked."""
    for side in sides:
        kernel, memory = side.guest.kernel, side.guest.memory + 2 * (len(system.archive) >> 20)
        if system.machine != kernel.machine:
            what = f"{system.name} is for {system.machine}, {kernel.name} for {kernel.machine}"
            raise UsageError(f"--rootfs: {what}", "give a kernel for it: --machine")
        alone = attrs.evolve(side.guest, memory=memory)
        yield LabSide(name=side.name, guest=alone)
        name = f"{side.name}-{system.name.partition('.tar')[0]}"
        yield LabSide(name=name, guest=attrs.evolve(alone, rootfs=system))


def _inventory_words(path: Path) -> str:
    """What there is in the machine of a result."""
    counts = inside(LatencyStore.open(path).platform.details, "inventory").items()
    words = (f"{len(n) if isinstance(n, list) else n} {what}" for what, n in counts)
    return f"{path.name}: {', '.join(words).replace('_', ' ')}."


def _campaigns(
    file: Path, lines: Sequence[tuple[Kernel, str, str]], how: Asked, machine: str
) -> Shown:
    """Task sets on each kernel, with the programs of the first, and how they compare."""
    options = f"cores={how.cpus},memory={how.memory},mode={how.mode},seed={how.seed}"
    machines = {
        f"{how.name}-{name}": ",".join(
            filter(None, [f"lab:{each.name}", words, options, f"machine={machine}"])
        )
        for each, name, words in lines
    }
    values = read_toml(file)
    mode = str(values.get("mode") or ("stress" if "stress" in values else "profile"))
    if mode not in ("profile", "stress"):
        raise UsageError(f"{file} is of deadbeat {mode}", "the lab takes those of contention")
    kind, written = kind_of("campaign"), written_in(file, mode)

    def measure(name: str, first: Path | None) -> Path:
        executor = machines[name]
        say(f"{name}: {mode} on {executor.partition(':')[2]}")
        begin = Begin(
            runs=how.runs,
            written=written.values,
            typed={"name": name, "mode": mode},
            names={**written.names, "name": "--name", "mode": "--file"},
            fresh=how.fresh,
            given={"executor": executor},
            budget_s=how.left_s(),
            words=words_typed("lab run"),
            say=say,
        )
        return answered(kind, begin if first is None else kind.follow(begin, first), how.figures)

    paths, _ = in_series(machines, measure, say)
    return answer(list(paths.values()), runs=how.runs, figures=how.figures)


def asked_of(
    command: str,
    *,
    added: Mapping[str, ImageFile] | None = None,
    quick: bool = False,
    **options: Any,
) -> Asked:
    """What the options of a command ask for; those of a latency matrix among them.

    Args:
        added: Files of the machine beside ours. ``quick``: few short boots.
    """
    if quick:
        options |= {"name": f"{options['name']}-quick", "seeds": min(options["seeds"], 2)}
        options["duration"] = options["duration"] or "500ms"
    own = {key: options[key] for key in attrs.fields_dict(Asked) if key in options}
    matrix = {key: value for key, value in options.items() if key not in own}
    return Asked(command=command, matrix=matrix, extra=added or {}, **own)


def _require_kvm(sides: Sequence[LabSide]) -> None:
    """TargetError where KVM does not boot one of the kernels, by a trial of each."""
    for guest in {side.guest.kernel.name: side.guest for side in sides}.values():
        works, why = kvm_works(guest.qemu, guest.kernel, guest.program)
        if not works:
            raise TargetError(why, "leave --mode out: virtual time needs no KVM")


def _sides_of(question: LabPreset, how: Asked) -> list[LabSide]:
    found = {word: needed([word], "x86_64")[0] for word in question.kernels}
    return [
        how.side(each.name, found[each.kernel], each.words, each.services)
        for each in question.variants
    ]


def _stores(side: LabSide, runs: Path) -> list[LatencyStore]:
    """What was begun on just this machine, the last first: in virtual time it was the same one."""
    if side.guest.mode != "virtual-time":
        return []
    known = sorted(family(runs, side.name).items(), reverse=True)
    found = [
        LatencyStore.open(path)
        for _, path in known
        if MATRIX.holds(path) and FOLDERS.state_of(path).state != "damaged"
    ]
    return [each for each in found if each.facts.get("lab") == side.guest.facts]


def changed(side: LabSide, platform: Platform, base: LabSide) -> bool:
    """Whether the kernel made something of the words that ``base`` has not; says which it did
    not."""
    ignored = platform.details.get(IGNORED)
    if not isinstance(ignored, list) or not ignored:
        return True
    own = {*side.guest.words.split()} - {*base.guest.words.split()}
    nothing = bool(own) and own <= {*ignored}
    text = f"the kernel ignores {' '.join(ignored)}"
    say(f"{side.name}: {text}" + (", all that it differs by: left out" if nothing else ""))
    return not nothing


def _looked(
    sides: Sequence[LabSide], stores: Mapping[str, Sequence[LatencyStore]], boots: Boots
) -> Iterator[tuple[LabSide, Platform]]:
    """What each kernel shows of itself, once; those that do not boot say so and are left out."""
    new = [side for side in sides if not stores[side.name]]
    if new:
        say(f"look at {count_of(len(new), 'kernel')}: a boot each")
    looks = {
        side.name: boots.submit(partial(platform_of, side.guest, name=side.name, stop=boots.stop))
        for side in new
    }
    for side in sides:
        try:
            look = looks.get(side.name)
            yield side, stores[side.name][0].platform if look is None else look.result()
        except DeadbeatError as error:
            say(str(error))


# ---------- what is booted


def _command_lines(kernel: Kernel, preempt: str) -> list[tuple[str, str]]:
    """Name of a result and words, for each model that is asked for and the kernel has."""
    asked = [word for word in preempt.split(",") if word]
    strange = [word for word in asked if word not in MODELS]
    if strange:
        raise UsageError(f"--preempt: {shown(strange[0])}", nearest(strange[0], MODELS))
    models = [word for word in asked if word in kernel.preemption.choices]
    if kernel.preemption.default == "rt" or not models:
        return [(kernel.label, "")]
    return [(f"{kernel.label}-{word}", f"preempt={word}") for word in models]
