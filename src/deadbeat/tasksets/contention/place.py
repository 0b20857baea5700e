"""Which folder a campaign lives in, how far it is, and how its programs run somewhere else.

Of a campaign with foreign programs these, and the costs from which C, T and D follow, are the other
campaign's: the two differ in nothing but the machine, and can be compared program by program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import frozen

from deadbeat.base.experiment.folders import Folders
from deadbeat.base.model.errors import CalibrationError, DataError, UsageError
from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.platform import Platform
from deadbeat.base.model.words import Json
from deadbeat.base.store.files import file_hash, reading
from deadbeat.base.store.place import (
    BREAKDOWN,
    CAMPAIGN,
    LOAD_TEST,
    MATRIX,
    PROGRAM,
    FolderState,
    Place,
    no_result,
    other_parameters,
)
from deadbeat.tasksets.contention.plan import (
    is_complete,
    plan,
    planned_runs,
    programs_of,
    synthesised,
)
from deadbeat.tasksets.contention.spec import VERB, CampaignSpec, read_spec, spec_dict
from deadbeat.tasksets.emit import task_set_id
from deadbeat.tasksets.executors.base import RunRequest
from deadbeat.tasksets.executors.preparing import begun_elsewhere
from deadbeat.tasksets.model.results import RunKey
from deadbeat.tasksets.store.campaign import CampaignStore
from deadbeat.tasksets.store.origin import Origin
from deadbeat.tasksets.store.programs import Program
from deadbeat.tasksets.synthesis import Synthesiser


@frozen(kw_only=True)
class CampaignState(FolderState):
    """A campaign as a list shows it. Where points stop when they are known, ``planned`` is the most
    there can be until all are decided. ``programs_from``: campaign that has its programs; "": its
    own. ``mode``: profile or stress."""

    programs_from: str = ""
    mode: str = ""

    def facts(self) -> dict[str, Json]:
        return {"programs_from": self.programs_from or None}

    def words(self, kind: str) -> str:
        name = "contention --random" if self.mode == "stress" else "contention"
        own = f", programs of {self.programs_from}" if self.programs_from else ""
        return super().words(name) + own


def _stand(store: CampaignStore) -> CampaignState:
    spec, origin, costs = read_spec(store.spec), store.load_origin(), store.load_calibration()
    platform = origin.platform if origin else costs.platform if costs else None
    return CampaignState.of(
        store.path,
        complete=is_complete(spec, store),
        harm=store.damaged_run(),
        preset=spec.preset,
        mode=spec.mode,
        programs_from=origin.name if origin else "",
        loud=platform.loud if platform else "",
        planned=planned_runs(spec, store),
        done=len(store.committed()),
        failed=len(store.failed()),
    )


FOLDERS = Folders(kind=CAMPAIGN, store=CampaignStore, stand=_stand, state=CampaignState)
state_of = FOLDERS.state_of


def choose(
    runs: Path,
    spec: CampaignSpec,
    *,
    platform: Platform | None = None,
    keep: bool = False,
    origin: Origin | None = None,
    source: Path | None = None,
    **options: bool,
) -> Place:
    """Where ``spec`` (resolved) is to be run. ``platform``: where; None: on whichever it was begun.
    ``keep``, ``options``: as `Folders.place` takes them. ``origin``: owner of the programs to run;
    None: its own.
    ``source``: folder of the campaign they are of, which is never continued itself. Raises
    UsageError: the one to continue was begun with other parameters or programs, or there is nothing
    to retry; DataError: it is damaged."""

    def differs(store: CampaignStore) -> Iterator[str]:
        if source is not None and store.path.resolve() == source.resolve():
            yield "would be continued with programs of itself"
            return
        if platform is not None:
            yield from begun_elsewhere(store, platform)
            if keep and origin is None:
                yield from _calibrated_elsewhere(store, platform)
        yield from _other_programs(store.load_origin(), origin)
        yield from other_parameters(spec_dict(read_spec(store.spec)), spec_dict(spec))

    place = FOLDERS.place(runs, spec.name, differs, keep=keep, **options)
    if place.replaces and source is not None and place.path.resolve() == source.resolve():
        raise UsageError(
            f"{place.path} has the programs that are asked for", "choose another --name"
        )
    return place


def _calibrated_elsewhere(store: CampaignStore, platform: Platform) -> Iterator[str]:
    """Where the costs of its own programs are not those of ``platform``, as a predicate."""
    calibration = store.load_calibration()
    if calibration is None:
        yield "was never calibrated"
        return
    made = calibration.platform
    if (made.fingerprint, made.kernel) != (platform.fingerprint, platform.kernel):
        yield f"was calibrated on {made.name} ({made.kernel})"


def _other_programs(kept: Origin | None, asked: Origin | None) -> Iterator[str]:
    if kept.same_programs(asked) if kept and asked else kept is asked:
        return
    there = f"programs of {kept.name}" if kept else "programs of its own"
    now = f"those of {asked.name} as they are now" if asked else "its own"
    yield f"was begun with {there}, not with {now}"


def find_campaign(runs: Path, text: str) -> Path:
    """The folder of the campaign that ``text`` names: a path, or a name under ``runs``. Raises
    UsageError: there is none, but something else of that name, which is said, or the nearest."""
    if (found := CAMPAIGN.find(runs, text)) is not None:
        return found
    for kind in (MATRIX, LOAD_TEST, BREAKDOWN, PROGRAM):
        if (other := kind.find(runs, text)) is not None:
            raise kind.no_campaign(other)
    raise no_result(runs, text)


_COPY_HINT = "delete it and repeat the command: it is copied again"
_ELF_MAGIC = b"\x7fELF"


def origin_of(source: CampaignStore, spec: CampaignSpec, platform: Platform) -> Origin:
    """Find the programs that ``spec`` (resolved) runs on ``platform``; check all that can be.
    Raises UsageError: they cannot run here, or are not all there; DataError: a program is damaged.
    """
    name = source.path.resolve().name
    calibration, programs = source.load_calibration(), source.programs.all()
    if calibration is not None:
        _require_runnable(source, calibration.platform, platform)
    finish = "finish it first with its own command, then run its programs here"
    if calibration is None or not programs:
        message = f"{name} holds no programs: it was interrupted before any was built"
        raise UsageError(message, finish)
    planned = plan(spec)
    lacking = len(planned) - len(source.programs.keys().intersection(planned))
    # one that stopped when it was known built no more than it wanted, and is offered that
    known = spec.precision is not None and is_complete(read_spec(source.spec), source)
    if lacking and not known:
        there = f"{len(planned) - lacking} of {len(planned)}"
        raise UsageError(f"{name} holds the programs of {there} task sets", finish)
    kept = source.load_origin()
    built_for = calibration.platform
    hashes = {
        program.batch: _checked_hashes(source, kept, program, platform) for program in programs
    }
    # another system runs the same task sets, in programs of its own
    built = platform.system == built_for.system
    return Origin(
        name=name,
        elf={batch: found.get("elf") if built else None for batch, found in hashes.items()},
        source={batch: found["c"] for batch, found in hashes.items()},
        index={batch: found["json"] for batch, found in hashes.items()},
        original=built_for,
        platform=platform,
    )


def _require_runnable(source: CampaignStore, built_for: Platform, platform: Platform) -> None:
    name, verb = source.path.resolve().name, _verb(source)
    here, there = (each.made_up for each in (platform, built_for))
    if here and not there:
        raise UsageError(
            f"{name} was measured on {built_for.name}: its executables do not run on"
            f" {platform.name}, which is simulated",
            f"deadbeat predict {name} compares predicted with measured; or simulate"
            f" others: deadbeat {verb} --simulated",
        )
    if there and not here:
        raise UsageError(
            f"{name} holds no executables that could run on {platform.name}: it was simulated",
            f"measure first (deadbeat {verb}); deadbeat predict RESULT then compares",
        )
    if built_for.machine != platform.machine:
        raise UsageError(
            f"the programs of {name} were built for {built_for.machine}; {platform.name} is"
            f" {platform.machine}",
            f"run them on a machine of the same architecture; deadbeat {verb} without"
            " --programs-from makes task sets for this one, which cannot be compared with them",
        )


def require_fragments(
    source: CampaignStore, platform: Platform, lacking: Mapping[str, str]
) -> None:
    """Refuses task sets that use what another system has not. ``lacking``: fragment -> reason of
    one line. Raises UsageError: naming each fragment with its reason."""
    keys = [key for program in source.programs.all() for key in program.keys]
    stored = [source.programs.planned(key) for key in keys]
    tasks = (task for each in stored if each is not None for task in each.task_set.tasks)
    used = {use.entry.fragment for task in tasks for use in task.uses}
    wrong = sorted(used & set(lacking))
    if wrong:
        raise UsageError(
            f"{source.path.resolve().name} has task sets that {platform.kernel} cannot run: "
            + "; ".join(f"{name} {lacking[name]}" for name in wrong),
            "begin it with fragments that both have: deadbeat list fragments --help",
        )


def _verb(source: CampaignStore) -> str:
    return VERB.get(str(source.spec.get("mode")), "contention")


def _checked_hashes(
    source: CampaignStore, kept: Origin | None, program: Program, platform: Platform
) -> dict[str, str]:
    """SHA-256 by suffix of what is there of a batch, compared with what was recorded."""
    files = _files_of(source, program)
    recorded = source.programs.recorded_hashes(program.batch)
    if kept is not None:
        recorded = _hashes(kept, program.batch)
    name = source.path.resolve().name
    if program.elf is None and ("elf" in recorded or platform.kind != "simulated"):
        if "elf" in recorded:
            raise DataError(
                f"program {files['c'].with_suffix('.elf')} is missing",
                f"put it back, or begin a new campaign (deadbeat {_verb(source)}): without it"
                f" {name} cannot be run elsewhere",
            )
        message = f"{name} holds no executable of {program.batch}"
        raise UsageError(message, "name a campaign that was measured")
    found = {suffix: file_hash(path) for suffix, path in files.items()}
    wrong = [suffix for suffix, digest in recorded.items() if found.get(suffix) != digest]
    if not recorded and "elf" in files:
        with reading(files["elf"]) as stream:
            is_elf = stream.read(len(_ELF_MAGIC)) == _ELF_MAGIC
        if not is_elf:
            wrong = ["elf"]
    if wrong:
        hint = f"restore it from a backup, or begin a new campaign (deadbeat {_verb(source)})"
        raise DataError(f"program {files[wrong[0]]} is damaged: it is not what was built", hint)
    return found


def _files_of(store: CampaignStore, program: Program) -> dict[str, Path]:
    files = {"c": program.source, "json": program.source.with_suffix(".json")}
    return files | ({"elf": program.elf} if program.elf is not None else {})


def _hashes(origin: Origin, batch: str) -> dict[str, str]:
    """Recorded SHA-256 by suffix, the index last; empty for a batch it does not know."""
    if batch not in origin.index:
        return {}
    elf = origin.elf.get(batch)
    built = {"elf": elf} if elf is not None else {}
    return {"c": origin.source[batch], **built, "json": origin.index[batch]}


def check_place(origin: Origin, platform: Platform) -> None:
    """Refuses to continue a campaign with foreign programs on yet another machine. Raises
    CalibrationError: ``platform`` is not where it was begun."""
    begun = origin.platform
    if begun.fingerprint != platform.fingerprint:
        raise CalibrationError(
            f"the campaign was begun on {begun.name} ({begun.soc}), not on {platform.name}"
            f" ({platform.soc}) with its frequency policy and toolchain",
            "continue it there, or start again here with --fresh",
        )


def copy_programs(source: CampaignStore | None, store: CampaignStore, origin: Origin) -> None:
    """Makes ``store`` hold every program of its origin, the index of each last. ``source``: where
    they are; None: they are all there already. Raises DataError: one is missing and cannot be
    copied, or differs from what was recorded."""
    folder = store.path / "programs"
    for batch in sorted(origin.index):
        # what was built is checked when it is run; here only that it is there
        for suffix, digest in _hashes(origin, batch).items():
            name = f"{batch}.{suffix}"
            if (folder / name).exists():
                continue
            there = source.path / "programs" / name if source else None
            if there is None or not there.exists():
                hint = "repeat the command with --programs-from: it is copied again"
                raise DataError(f"program {folder / name} is missing", hint)
            if file_hash(there) != digest:
                message = f"program {there} is not the one with which {store.path.name} was begun"
                raise DataError(message, "put the old one back, or start again with --fresh")
            store.programs.copy_file(name, there)
        # the record of hashes is a copy of what the origin says; an old campaign has none
        record = f"{batch}.sha256"
        there = source.path / "programs" / record if source else None
        if there and there.exists() and not (folder / record).exists():
            store.programs.copy_file(record, there)


def verify_program(store: CampaignStore, origin: Origin, program: Program) -> None:
    """Raises DataError unless what ``store`` holds of a batch is what the origin recorded."""
    files = _files_of(store, program)
    for suffix, digest in _hashes(origin, program.batch).items():
        if suffix not in files:
            lost = program.source.with_suffix(f".{suffix}")
            raise DataError(f"program {lost} is missing", "repeat the command: it is copied again")
        if file_hash(files[suffix]) != digest:
            message = f"program {files[suffix]} is damaged: it is not what {origin.name} ran"
            raise DataError(message, _COPY_HINT)


# ---------- the task sets of a batch ----------


@frozen(kw_only=True)
class Batch:
    """The task sets of one program. ``requests``: in the order of the program's table. ``set_ids``:
    identifier of each run's task set. ``program``: already built of exactly these; None: it is to
    be built."""

    requests: tuple[RunRequest, ...]
    set_ids: dict[RunKey, str]
    program: Path | None = None


@frozen(kw_only=True)
class Generated:
    """Task sets by synthesis from the campaign's own calibration."""

    spec: CampaignSpec
    synthesiser: Synthesiser

    def batches(self, keys: Sequence[RunKey]) -> tuple[tuple[str, tuple[RunKey, ...]], ...]:
        """Programs of as many task sets as one may hold, of whole rounds where there are any."""
        batches = programs_of(self.spec, keys)
        return tuple((f"batch-{index:03d}", batch) for index, batch in enumerate(batches))

    def batch(self, name: str, keys: Sequence[RunKey]) -> Batch:
        """Synthesises every set; ``name`` does not matter."""
        requests = tuple(
            RunRequest(key, synthesised(self.spec, self.synthesiser, key)) for key in keys
        )
        ids = {request.key: task_set_id(request.task_set) for request in requests}
        return Batch(requests=requests, set_ids=ids)


@frozen(kw_only=True)
class StoredPrograms:
    """The programs that a campaign holds already, each verified against its origin."""

    store: CampaignStore
    origin: Origin

    def batches(self, keys: Sequence[RunKey]) -> tuple[tuple[str, tuple[RunKey, ...]], ...]:
        """Batches as they were built, that of the first key first."""
        home = {key: each.batch for each in self.store.programs.all() for key in each.keys}
        if lost := [key.text for key in keys if key not in home]:
            message = f"no program of {self.origin.name} holds {lost[0]}"
            raise DataError(message, "start again with --fresh")
        found = grouped(keys, home.__getitem__)
        return tuple((name, tuple(batch)) for name, batch in found.items())

    def batch(self, name: str, keys: Sequence[RunKey]) -> Batch:
        """Every set of the program, also those that are not run: their places tell them apart."""
        (program,) = [each for each in self.store.programs.all() if each.batch == name]
        verify_program(self.store, self.origin, program)
        requests, ids = [], {}
        for key in program.keys:
            planned = self.store.programs.planned(key)
            assert planned is not None
            requests.append(RunRequest(key, planned.task_set))
            ids[key] = planned.set_id
        return Batch(requests=tuple(requests), set_ids=ids, program=program.elf)


#: Hands out batches; the same name and keys give the same batch in every session.
Supply = Generated | StoredPrograms
