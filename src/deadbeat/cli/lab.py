"""What ``deadbeat lab run`` does: kernels become words for machines, which are measured one after
another as by ``--target``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from deadbeat.base.kinds.base import Begin, ExperimentKind
from deadbeat.base.kinds.registry import kind_of
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import DeadbeatError, UsageError
from deadbeat.base.model.specification import Layer
from deadbeat.base.model.words import inside, nearest, shown
from deadbeat.base.report.document import Table
from deadbeat.base.store.files import read_toml
from deadbeat.cli._measure import answered, written_in
from deadbeat.cli._options import budget_seconds, words_typed
from deadbeat.cli._output import say
from deadbeat.cli.lab_fetch import kernels_of, needed
from deadbeat.cli.series import answer, begun_on
from deadbeat.lab.kernels import Kernel
from deadbeat.lab.offers import MACHINES
from deadbeat.lab.presets import PRESETS, LabPreset
from deadbeat.lab.rootfs import Rootfs
from deadbeat.latencies.latency.spec import LatencySpec, specify
from deadbeat.latencies.latency.store import LatencyStore
from deadbeat.machine.targets.opening import open_target
from deadbeat.machine.targets.run import in_series

MODELS = ("none", "voluntary", "full", "lazy")
#: What kernels are compared by: every further metric makes a decision of these need more seeds.
_METRICS = ("p99", "max")
#: Options -> keys of a latency matrix, and its values where neither says another.
_MATRIX = {
    **{key: key for key in ("loads", "duration", "interval", "priority", "seed")},
    **{"engine": "engines", "limits": "deadlines", "seeds": "repeats"},
}
_USUAL = {"loads": "mixed", "duration": "2s", "engines": "prober"}


@frozen(kw_only=True)
class Asked:
    """How kernels are measured, whichever they are.

    Attributes:
        name: Beginning of the names of the results.
        machine: Options of each machine. ``cmdline``: words for each kernel.
    """

    kind: ExperimentKind
    begin: Begin
    name: str
    machine: Mapping[str, object]
    cmdline: str
    figures: bool | None

    @property
    def spec(self) -> LatencySpec:
        """The matrix of each; UsageError names what is wrong with it."""
        return specify(self.begin.written, self.begin.typed, names=self.begin.names)

    def named(self, name: str) -> str:
        """Name of a result; a release has signs that none may have."""
        return re.sub(r"[^\w.-]", "-", f"{self.name}-{name}")

    def word(self, kernel: str | Path, words: str = "", **more: object) -> str:
        """Word for the machine of a kernel, a release or a file, with ``words`` for its command
        line."""
        options = {**self.machine, **more, "cmdline": f"{words} {self.cmdline}".strip()}
        given = (f"{key}={value}" for key, value in options.items() if value)
        return ",".join([f"lab:{kernel}", *given])

    def measured(self, machines: Mapping[str, str]) -> dict[str, Path]:
        """The folders of the machines (by names of their results) that have a result."""
        first_words = {*next(iter(machines.values()), "").partition(",cmdline=")[2].split()}

        def measure(name: str, first: Path | None) -> Path:
            with open_target(machines[name]) as target:
                ignored = getattr(target, "ignored", ())
            text = f"the kernel ignores {' '.join(ignored)}"
            own = {*machines[name].partition(",cmdline=")[2].split()} - first_words
            if own and own <= {*ignored}:
                raise DeadbeatError(text, "all that it differs by: left out")
            if ignored:
                say(f"{name}: {text}")
            begin = begun_on(self.begin, name, machines)
            begin = begin if first is None else self.kind.follow(begin, first)
            return answered(self.kind, begin, self.figures)

        return in_series(machines, measure, say)[0]


def run(
    *,
    kernels: str,
    preset: str | None,
    kernel: Path | None,
    initrd_extra: Path | None,
    rootfs: Path | None,
    preempt: str,
    machine: str,
    memory: int,
    campaign: Path | None,
    fail_on: tuple[str, ...] = (),
    **asked: Any,
) -> Shown:
    question = PRESETS[preset] if preset else None
    if question and (kernels or kernel or preempt or rootfs):
        hint = "leave --kernels, --kernel, --preempt, --rootfs out"
        raise UsageError("--preset names its kernels itself", hint)
    if campaign and (question or rootfs):
        raise UsageError("--file excludes --preset and --rootfs", "drop one")
    system = Rootfs.read(rootfs) if rootfs else None
    # The system is in the memory of its machine twice while it is unpacked.
    memory += 2 * (len(system.archive) >> 20) if system else 0
    how = asked_of(
        words_typed("lab run"), memory=memory, campaign=campaign, extra=initrd_extra, **asked
    )
    machines = {}
    for each in [] if question else kernels_of(kernels, kernel, MACHINES[machine]):
        if system:
            system.require_machine(each.machine, each.name)
        source = kernel if kernel and each.flavour == "own" else each.name
        for name, words in _command_lines(each, preempt):
            machines[how.named(name)] = how.word(source, words)
            if system:
                beside = how.named(f"{name}-{system.name.partition('.tar')[0]}")
                machines[beside] = how.word(source, words, rootfs=rootfs)
    paths = how.measured(_machines_of(question, how) if question else machines)
    found = [*paths.values()]
    runs, figures = how.begin.runs, how.figures
    metrics = () if campaign else _METRICS
    said = answer(found, runs=runs, figures=figures, metrics=metrics, fail_on=fail_on)
    if question and question.ranked and len(found) > 1:
        # A comparison with the largest effect first.
        assert said.document is not None and isinstance(said.document.picture, Table)
        table = said.document.picture
        rows = sorted(table.rows, key=lambda row: -abs(row[1].effect or 0.0))
        return evolve(said, document=evolve(said.document, picture=evolve(table, rows=rows)))
    if rootfs:
        return _saying(said, map(_inventory_words, found))
    names = map(how.named, question.also if question else ())
    own = [paths[name] for name in names if name in paths]
    if len(own) < 2:
        return said
    also = answer(own, runs=runs, figures=figures, metrics=metrics)
    assert also.document is not None
    said = _saying(said, also.document.answer)
    return evolve(said, lines=(*said.lines, f"page: {also.page}"))


def _saying(found: Shown, lines: Iterable[str]) -> Shown:
    """A comparison that says more beside its own verdict."""
    assert found.document is not None
    document = evolve(found.document, answer=[*found.document.answer, *lines])
    return evolve(found, document=document)


def _inventory_words(path: Path) -> str:
    """What there is in the machine of a result."""
    counts = inside(LatencyStore.open(path).platform.details, "inventory").items()
    words = (f"{len(n) if isinstance(n, list) else n} {what}" for what, n in counts)
    return f"{path.name}: {', '.join(words).replace('_', ' ')}."


def asked_of(
    typed: Sequence[str],
    *,
    name: str,
    runs: Path,
    cmdline: str,
    fresh: bool,
    retry: bool,
    figures: bool | None,
    time_budget: str | None,
    quick: bool = False,
    campaign: Path | None = None,
    extra: Path | None = None,
    **options: Any,
) -> Asked:
    """What the options of a command ask for.

    Args:
        typed: The command as it was typed. ``quick``: few short boots.
        extra: Folder with further files of the machines.
        campaign: File with what is run instead of a latency matrix.
    """
    machine = {"cores": options["cpus"], "memory": options["memory"], "mode": options["mode"]}
    if quick:
        name, options["seeds"] = f"{name}-quick", min(options["seeds"], 2)
        options["duration"] = options["duration"] or "500ms"
    asked, usual = Layer(), Layer(dict(_USUAL))
    for option, key in _MATRIX.items() if campaign is None else ():
        if options[option] is not None:
            asked.put(key, options[option], f"--{option}")
    if campaign is not None:
        values = read_toml(campaign)
        mode = str(values.get("mode") or ("stress" if "stress" in values else "profile"))
        if mode not in ("profile", "stress"):
            raise UsageError(f"{campaign} is of deadbeat {mode}", "the lab takes contention's")
        usual, machine["seed"] = written_in(campaign, mode), options["seed"]
        asked.put("mode", mode, "--file")
    found = Asked(
        kind=kind_of("latency" if campaign is None else "contention"),
        begin=Begin(
            runs=runs,
            written=usual.values,
            typed=asked.values,
            names={**usual.names, **asked.names, "name": "--name"},
            fresh=fresh,
            retry_failed=retry,
            retry_invalid=retry,
            budget_s=budget_seconds(time_budget) if time_budget else None,
            words=typed,
            say=say,
        ),
        name=name,
        machine={**machine, "extra": extra},
        cmdline=cmdline,
        figures=figures,
    )
    if campaign is None:
        assert found.spec  # what is wrong with it is said before anything is fetched
    return found


# ---------- what is booted


def _machines_of(question: LabPreset, how: Asked) -> dict[str, str]:
    found = {word: needed([word], "x86_64")[0] for word in question.kernels}
    return {
        how.named(each.name): how.word(found[each.kernel].name, each.words, services=each.services)
        for each in question.variants
    }


def _command_lines(kernel: Kernel, preempt: str) -> list[tuple[str, str]]:
    """Name of a result and words, for each model that is asked for and the kernel has."""
    asked = [word for word in preempt.split(",") if word]
    for word in asked:
        if word not in MODELS:
            raise UsageError(f"--preempt: {shown(word)}", nearest(word, MODELS))
    models = [word for word in asked if word in kernel.preemption.choices]
    if kernel.preemption.default == "rt" or not models:
        return [(kernel.label, "")]
    return [(f"{kernel.label}-{word}", f"preempt={word}") for word in models]
