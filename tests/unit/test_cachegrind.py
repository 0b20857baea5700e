"""Truth: counts written by hand into what valgrind leaves."""

import csv
import json
from pathlib import Path

import pytest
from helpers.answers import Capture
from helpers.campaigns import TINY_OPTIONS
from helpers.processes import script

from deadbeat.build.cachegrind import require_cachegrind, simulated_events
from deadbeat.cli.main import main
from deadbeat.model.errors import RunError, UsageError

#: Writes, for a length of n units of 0.2 s: the host, which sets up alone, and two cores.
VALGRIND = """\
for word in "$@"; do
    case $word in --cachegrind-out-file=*) folder=${word#*=}; folder=${folder%/*} ;; esac
done
while [ "$1" != --seconds-ns ]; do shift; done
n=$(( $2 / 200000000 ))
one() {
    echo "events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim"
    echo "summary: $1 0 0 0 $2 $3 0 0 0 $4 $5 0 0"
}
one 5 900 $(( n * 777 )) 1 1 > "$folder/1"
for core in 2 3; do
    one $(( 1000 + n * 5000 )) $(( 40 + n * 10 )) $(( 7 + n * 5 )) $(( n * 100 )) $(( n * 20 )) \\
        > "$folder/$core"
done
echo "task set 0 of 1 (0123), 2 cores, 0.2 s together, SCHED_OTHER, $(( n * 5 + 1 )) jobs ran"
exit ${BROKEN:-0}
"""


@pytest.fixture
def valgrind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "bin" / "valgrind", VALGRIND)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")


@pytest.mark.usefixtures("valgrind")
def test_counts_are_of_the_jobs_between_two_lengths() -> None:
    """Two cores, ten jobs more: 2 x 2 x 5000 instructions are 2000 a job."""
    found = simulated_events(Path("program"), 0, 2)
    assert found == {
        "instructions": 2000.0,
        "cache_references": 4.0,
        "cache_misses": 2.0,
        "branches": 40.0,
        "branch_misses": 8.0,
    }


@pytest.mark.usefixtures("valgrind")
def test_a_program_that_fails_there_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKEN", "1")
    with pytest.raises(RunError, match="task set 3 failed under cachegrind: task set 0 of 1"):
        simulated_events(Path("program"), 3, 2)


def test_without_valgrind_it_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="needs valgrind"):
        require_cachegrind()


def rows_of(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(Path(f"runs/{name}/sets.csv").read_text().splitlines()))


@pytest.mark.usefixtures("in_a_folder")
def test_stored_counts_stand_where_the_processor_counts_none(capsys: Capture) -> None:
    assert main((*TINY_OPTIONS, "--cores", "2")) == 0
    keys = [row["key"] for row in rows_of("tiny")]
    counts = {key: {"cache_misses": 10.0 + at} for at, key in enumerate(keys)}
    file = Path("runs/tiny/simulated-counters.json")
    file.write_text(json.dumps({"format": 1, **counts}))
    assert main(("page", "tiny", "--no-figures")) == 0
    rows = rows_of("tiny")
    assert [float(row["counter_cache_misses_per_job"]) for row in rows] == [
        10.0 + at for at in range(len(keys))
    ]
    page = Path("runs/tiny/report.html").read_text(encoding="utf-8")
    assert "Cache misses (SIMULATED by cachegrind)" in page
    capsys.readouterr()
    assert main((*TINY_OPTIONS, "--set", "run.counters_simulated=true", "--name", "b")) == 2
    assert "of programs that run on this machine" in capsys.readouterr().err
