"""Truth: the rules of issue 2 and measurement.md on what is run, kept and refused."""

from pathlib import Path

import attrs
import pytest
from helpers.campaigns import Log, begin, run, tiny_spec

from deadbeat.base.experiment.base import RunDone, RunFailed, Started
from deadbeat.base.model.errors import CalibrationError, TargetError
from deadbeat.tasksets.contention.plan import plan
from deadbeat.tasksets.contention.summarise import summarise
from deadbeat.tasksets.executors.base import UNSCALED_PPM, RunOutcome
from deadbeat.tasksets.executors.simulated import FakeExecutor, FakeSession, Faults
from deadbeat.tasksets.model.results import RunKey
from deadbeat.tasksets.store import jobfile
from deadbeat.tasksets.store.campaign import CampaignStore

SPEC = tiny_spec()
KEYS = [key.text for key in plan(SPEC)]


def test_the_environment_is_recorded_before_and_after_every_session(tmp_path: Path) -> None:
    store = begin(tmp_path, SPEC)
    with pytest.raises(TargetError):
        run(SPEC, store, executor=FakeExecutor(faults=Faults(lose_after=3)))
    run(SPEC, store)
    records = store.sessions()
    assert [record.number for record in records] == [1, 2]
    assert all(record.before and record.after for record in records)


def test_a_failed_run_is_kept_named_and_left_alone(tmp_path: Path) -> None:
    store, log = begin(tmp_path, SPEC), Log()
    executor = FakeExecutor(faults=Faults(fail={KEYS[1]: 1}))
    result = run(SPEC, store, executor=executor, on_event=log)
    assert [event.key.text for event in log.of(RunFailed)] == [KEYS[1]]
    assert [key.text for key in result.failed] == [KEYS[1]]
    assert (result.done, result.planned) == (7, 8)
    assert (log.of(RunDone)[-1].done, log.of(RunDone)[-1].eta_s) == (7, 0)
    again = Log()
    run(SPEC, store, executor=executor, on_event=again)
    assert again.of(RunDone) == []
    assert again.of(Started)[0].failed == 1


def test_a_result_of_another_task_set_fails_the_run(tmp_path: Path) -> None:
    class Swapped(FakeSession):
        def run(self, key: RunKey, *, period_ppm: int = UNSCALED_PPM) -> RunOutcome:
            other = next(each for each in self.task_sets if each.point.cores != key.point.cores)
            return attrs.evolve(super().run(other), key=key)

    class Swapping(FakeExecutor):
        def open(self, requests, settings, *, program=None):  # type: ignore[no-untyped-def]
            plain = super().open(requests, settings, program=program)
            return Swapped(**{a.name: getattr(plain, a.name) for a in attrs.fields(FakeSession)})

    result = run(SPEC, begin(tmp_path, SPEC), executor=Swapping())
    assert len(result.failed) == 8
    assert "another task set" in next(iter(result.failed.values()))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"policy": "other"}, "policy other"),
        ({"basis": "cold"}, "cost basis cold"),
        ({"pool": "full"}, "pool full"),
    ],
)
def test_a_calibration_that_does_not_fit_is_refused(
    tmp_path: Path, change: dict[str, str], word: str
) -> None:
    store = begin(tmp_path, SPEC)
    run(SPEC, store)
    kept = store.load_calibration()
    assert kept is not None
    fresh = begin(tmp_path / "fresh", SPEC)
    with pytest.raises(CalibrationError, match=word):
        run(SPEC, fresh, calibration=attrs.evolve(kept, **change))  # type: ignore[arg-type]
    assert fresh.load_calibration() is None
    assert fresh.sessions() == ()


def test_a_campaign_is_not_continued_on_a_foreign_machine(tmp_path: Path) -> None:
    store = begin(tmp_path, SPEC)
    with pytest.raises(TargetError):
        run(SPEC, store, executor=FakeExecutor(faults=Faults(lose_after=3)))
    with pytest.raises(CalibrationError, match="belongs to simulated"):
        run(SPEC, store, executor=FakeExecutor(name="other"))
    assert len(store.committed()) == 3
    assert len(store.sessions()) == 1


def test_each_job_file_is_read_once_from_begin_to_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, read = jobfile.read_bytes, []

    def counted(path: Path, **words: str) -> bytes:
        read.append(path.name)
        return real(path, **words)

    monkeypatch.setattr(jobfile, "read_bytes", counted)
    store = begin(tmp_path, SPEC)
    run(SPEC, store)
    assert len(summarise(store).sets) == len(KEYS) >= len(read)
    read.clear()
    summarise(CampaignStore.open(store.path))
    assert len(read) == len(KEYS)


@pytest.mark.parametrize("slow", [False, True])
def test_each_set_is_run_once_whatever_its_host_did(
    slow: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, plain = [], FakeSession.run

    def counted(session: FakeSession, key: RunKey, **more: int) -> RunOutcome:
        asked.append(key.text)
        outcome = plain(session, key, **more)
        if slow:
            outcome.table.probes["value_ps"] *= 2
        return outcome

    monkeypatch.setattr(FakeSession, "run", counted)
    result = run(SPEC, begin(tmp_path, SPEC))
    assert (asked, result.done, result.failed) == (KEYS, 8, {})
