"""Truth: boots of several matrices, by a script; their progress is that of one measurement."""

from __future__ import annotations

from pathlib import Path

from attrs import evolve
from test_lab_latency import guest_of, spec_of

from deadbeat.cli.lab import Together
from deadbeat.kinds.latency.guest import Boots, GuestExperiment, platform_of
from deadbeat.kinds.latency.spec import spec_dict
from deadbeat.store.latency import LatencyStore


def begun(folder: Path, name: str, boots: Boots) -> GuestExperiment:
    """A matrix of two boots that take no time."""
    guest, spec = guest_of(folder), spec_of(name=name)
    platform = evolve(platform_of(guest, name=name), kernel="6.12.1 #1")
    path = folder / name
    if not path.exists():
        LatencyStore.create(path, spec_dict(spec), platform, lab=guest.facts)
    return GuestExperiment(spec, guest, boots, store=LatencyStore.open(path))


def test_boots_of_all_matrices_are_counted_together(tmp_path, capsys):
    with Boots() as boots:
        together = Together("sweep", clock=iter(range(0, 300, 3)).__next__)
        for name in ("one", "two", "three"):
            together.add(begun(tmp_path, name, boots))
        assert [path.name for path in together.measured()] == ["one", "two", "three"]
    assert (together.kept, together.total, together.lost) == (6, 6, 0)
    told = capsys.readouterr().err
    assert "sweep: 3 kernels, 6 of 6 boots to go, about" in told
    # From the fourth on by the pace since the first: three boots in 3 s of this clock.
    assert "sweep: 4 of 6 boots, 2 s left" in told
    assert "sweep: 6 of 6 boots" in told


def test_what_is_stored_is_not_booted_again(tmp_path):
    with Boots() as boots:
        first = Together("sweep")
        first.add(begun(tmp_path, "one", boots))
        stopped = first.measured()
        next(stopped)
        again = Together("sweep")
        again.add(begun(tmp_path, "one", boots))
        again.add(begun(tmp_path, "two", boots))
    assert (again.kept, again.total) == (2, 4)
    assert again.kept_words == "2 of 4 boots are kept"
    assert Together("sweep").kept_words == "nothing is lost"
