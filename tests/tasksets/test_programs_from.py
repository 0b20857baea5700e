"""Truth: the programs of a stored campaign run elsewhere unchanged, or one line says why not."""

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import attrs
import pytest
from helpers.campaigns import begin, essence, run, tiny_spec, tiny_stress

from deadbeat.base.model.errors import DataError, TargetError, UsageError
from deadbeat.tasksets.contention.place import choose, origin_of
from deadbeat.tasksets.contention.plan import plan, resolve
from deadbeat.tasksets.contention.spec import VERB, CampaignSpec, read_spec, spec_dict
from deadbeat.tasksets.contention.summarise import summarise
from deadbeat.tasksets.executors.base import RunRequest, RunSettings
from deadbeat.tasksets.executors.simulated import FakeExecutor, FakeSession, Faults
from deadbeat.tasksets.store.campaign import CampaignStore

SPEC = tiny_spec()
ELSEWHERE = FakeExecutor(name="elsewhere")
ELF = b"\x7fELF of batch-000"


@attrs.frozen(kw_only=True)
class Compiled(FakeSession):
    """Has a program, as a session on hardware does."""

    file: Path

    @property
    def program(self) -> Path:
        return self.file


@attrs.frozen(kw_only=True)
class Building(FakeExecutor):
    """Builds a made-up program, and runs a given one only if it is that."""

    file: Path
    opened: list[Path] = attrs.field(factory=list)

    def open(
        self, requests: Sequence[RunRequest], settings: RunSettings, *, program: Path | None = None
    ) -> Compiled:
        plain = super().open(requests, settings)
        if program is None:
            self.file.write_bytes(ELF)
        else:
            assert program.read_bytes() == ELF
            self.opened.append(program)
        parts = {a.name: getattr(plain, a.name) for a in attrs.fields(FakeSession)}
        return Compiled(**parts, file=program or self.file)


def original(folder: Path, spec: CampaignSpec = SPEC) -> CampaignStore:
    """A finished campaign that holds an executable."""
    store = begin(folder, spec)
    run(spec, store, executor=Building(file=folder / "made.elf"))
    return store


def borrow(folder: Path, source: CampaignStore, executor: FakeExecutor = ELSEWHERE) -> Any:
    """A campaign with the programs of ``source``, not begun yet: spec and store."""
    platform = executor.describe()
    wanted = attrs.evolve(read_spec(source.spec), name="again", cpus=platform.cpus[:2])
    spec = resolve(wanted, platform).spec
    origin = origin_of(source, spec, platform)
    return spec, CampaignStore.create(folder / "again", spec_dict(spec), spec.seed, origin=origin)


def test_the_programs_are_the_same_bytes_and_run_as_they_are(tmp_path: Path) -> None:
    source = original(tmp_path)
    machine = Building(name="elsewhere", file=tmp_path / "never")
    spec, store = borrow(tmp_path, source, machine)
    result = run(spec, store, executor=machine, source=source)
    assert (result.done, result.failed) == (8, {})
    assert machine.opened == [store.path / "programs" / "batch-000.elf"]
    assert not machine.file.exists(), "nothing was built"
    files = sorted(path.name for path in (source.path / "programs").iterdir())
    assert files == ["batch-000.c", "batch-000.elf", "batch-000.json", "batch-000.sha256"]
    for name in files:
        there, here = (each.path / "programs" / name for each in (source, store))
        assert there.read_bytes() == here.read_bytes()
    ids = [{own.key: own.set_id for own in summarise(each).sets} for each in (source, store)]
    assert ids[0] == ids[1] and len(ids[0]) == 8


def test_the_same_hardware_makes_no_foreign_costs(tmp_path: Path) -> None:
    source = original(tmp_path)
    spec, store = borrow(tmp_path, source, FakeExecutor())
    run(spec, store, executor=FakeExecutor(), source=source)
    summary = summarise(store)
    assert summary.labels == ("simulated",)
    assert "foreign-programs" in [finding.id for finding in summary.findings]
    assert essence(store)["jobs"] == essence(source)["jobs"]


def test_a_copy_that_was_cut_off_is_made_whole(tmp_path: Path) -> None:
    source = original(tmp_path)
    spec, store = borrow(tmp_path, source)
    run(spec, store, executor=ELSEWHERE, source=source)
    for suffix in ("json", "elf"):
        (store.path / "programs" / f"batch-000.{suffix}").unlink()
    again = CampaignStore.open(store.path)
    with pytest.raises(DataError, match=r"batch-000\.elf is missing"):
        run(spec, again, executor=ELSEWHERE)
    assert run(spec, again, executor=ELSEWHERE, source=source).done == 8
    assert (store.path / "programs" / "batch-000.elf").read_bytes() == ELF


@pytest.mark.parametrize("name", ["batch-000.elf", "batch-000.c", "batch-000.json"])
def test_a_damaged_program_of_the_source_is_refused(tmp_path: Path, name: str) -> None:
    source = original(tmp_path)
    path = source.path / "programs" / name
    path.write_bytes(path.read_bytes().replace(b"0", b"1"))
    with pytest.raises(DataError) as caught:
        borrow(tmp_path, CampaignStore.open(source.path))
    assert name in caught.value.message and "damaged" in caught.value.message
    assert not (tmp_path / "again").exists()


def test_a_campaign_from_before_hashes_still_serves_and_its_executable_is_looked_at(tmp_path: Path):
    source = original(tmp_path)
    (source.path / "programs" / "batch-000.sha256").unlink()
    spec, store = borrow(tmp_path, source)
    assert run(spec, store, executor=ELSEWHERE, source=source).done == 8
    (source.path / "programs" / "batch-000.elf").write_bytes(b"nothing that runs")
    with pytest.raises(DataError, match=r"batch-000\.elf is damaged"):
        origin_of(source, spec, ELSEWHERE.describe())


def test_an_executable_damaged_after_it_was_copied_is_not_run(tmp_path: Path) -> None:
    source = original(tmp_path)
    spec, store = borrow(tmp_path, source)
    with pytest.raises(TargetError):
        machine = attrs.evolve(ELSEWHERE, faults=Faults(lose_after=2))
        run(spec, store, executor=machine, source=source)
    (store.path / "programs" / "batch-000.elf").write_bytes(b"\x7fELF of something else")
    with pytest.raises(DataError, match=r"batch-000\.elf is damaged") as caught:
        run(spec, store, executor=ELSEWHERE, source=source)
    assert "delete it" in caught.value.hint
    assert len(store.committed()) == 2


def edit_platform(source: CampaignStore, **changes: str) -> None:
    """Another platform for the costs of ``source``."""
    path = source.path / "calibration.json"
    plain = json.loads(path.read_text())
    plain["platform"] |= changes
    path.write_text(json.dumps(plain))


def test_a_simulated_campaign_has_nothing_for_hardware(tmp_path: Path) -> None:
    source = begin(tmp_path, SPEC)
    run(SPEC, source)
    hardware = attrs.evolve(ELSEWHERE.describe(), kind="hardware")
    with pytest.raises(
        UsageError, match=r"tiny holds no executables .*: it was simulated"
    ) as caught:
        origin_of(source, SPEC, hardware)
    assert "built for" not in caught.value.message
    assert "deadbeat predict RESULT" in caught.value.hint


def test_a_measured_campaign_has_nothing_for_the_simulator(tmp_path: Path) -> None:
    source = original(tmp_path)
    edit_platform(source, kind="hardware", machine="x86_64", name="bench")
    with pytest.raises(UsageError) as caught:
        borrow(tmp_path, source)
    assert caught.value.message == (
        "tiny was measured on bench: its executables do not run on elsewhere, which is simulated"
    )
    assert "deadbeat predict tiny compares predicted with measured" in caught.value.hint


@pytest.mark.parametrize("mode", ["profile", "stress"])
def test_a_new_campaign_is_begun_by_the_verb_of_the_source(tmp_path: Path, mode: str) -> None:
    spec = SPEC if mode == "profile" else tiny_stress()
    source = original(tmp_path, spec)
    (source.path / "programs" / "batch-000.elf").unlink()
    with pytest.raises(DataError) as caught:
        borrow(tmp_path, source)
    assert "batch-000.elf is missing" in caught.value.message
    assert f"begin a new campaign (deadbeat {VERB[mode]})" in caught.value.hint
    edit_platform(source, machine="aarch64")
    with pytest.raises(UsageError) as refused:
        borrow(tmp_path, source)
    assert "built for aarch64; elsewhere is none" in refused.value.message
    assert f"deadbeat {VERB[mode]} without --programs-from" in refused.value.hint


def test_more_cores_than_exist_are_refused_or_left_out_as_the_preset_does(tmp_path: Path) -> None:
    source = original(tmp_path)
    one = FakeExecutor(name="small", cores=1)
    with pytest.raises(UsageError, match="2 asked"):
        borrow(tmp_path, source, one)
    paper = attrs.evolve(SPEC, preset="paper", name="paper")
    source = original(tmp_path, paper)
    spec, store = borrow(tmp_path, source, one)
    assert run(spec, store, executor=one, source=source).done == 4
    assert {key.point.cores for key in store.committed()} == {1}
    assert set(plan(spec)) < set(plan(paper))


def test_a_campaign_is_not_continued_with_other_programs(tmp_path: Path) -> None:
    source = original(tmp_path)
    spec, store = borrow(tmp_path, source)
    with pytest.raises(UsageError, match="begun with programs of tiny, not with its own"):
        choose(tmp_path, spec)
    other = attrs.evolve(store.load_origin(), elf={"batch-000": sha256(b"x").hexdigest()})
    with pytest.raises(UsageError, match="not with those of tiny as they are now"):
        choose(tmp_path, spec, origin=other, source=source.path)
