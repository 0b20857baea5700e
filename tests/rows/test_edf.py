"""Rows of the thesis, sections 2 and 3: simulation, schedulability tests, and its experiments."""

import json
from pathlib import Path

import pytest
from helpers.seed_rows import ROOT, Row, says, system, table

TIES, DHALL = ((ROOT / f"examples/sched/{name}.json").read_text() for name in ("ties", "dhall"))
#: Two jobs of 1 that are due at once, together or one after the other.
AT_ONCE, IN_TURN = (system(1, (1, 2, 1), (1, 2, 1, offset)) for offset in (0, 1))
#: U of 0.5 each, and one task of U 0.01 beyond m (1 - umax) + umax = 1.5.
FULL, OVER = (system(2, *[(1, 2)] * 3, *more) for more in ((), ((1, 100),)))
UNI = system(1, (1, 4), (2, 6), (3, 13))
#: The last one's job moves between the other processors, in one cluster of two or into the next.
MOVES = ((1, 4), (1, 4), (4, 6), (5, 8))
CLUSTERS = system(4, (3, 8), (5, 12), (8, 12), (18, 24), (3, 6), (5, 8))
LOOSE = system(4, (4, 6), (3, 4), (5, 12), (2, 4), (5, 8), (1, 4), (3, 8))
DOES, MISSES, TAKEN, OPEN = "^schedulable: yes, proved", "^schedulable: no", " accepted", "not acc"


@pytest.mark.parametrize(
    "answers",  # task system -> what is said of it
    [
        pytest.param({IN_TURN: (DOES, "periodic-offset"), AT_ONCE: (MISSES,)}, id="offsets"),
        pytest.param({TIES: ("fragile", "index  +no", "reverse  +yes"),
                      FULL: ("robust",)}, id="ties"),
        pytest.param({FULL: (TAKEN, "Goossens"), OVER: (OPEN,)}, id="gfb"),
        pytest.param({system(2, (5, 7), (1, 5), (5, 9)): (TAKEN,), DHALL: (OPEN,)}, id="slack"),
        pytest.param({UNI: (DOES, "two hyper-periods without a miss, equal states", r"\[0, 312\)"),
                      DHALL: (MISSES, "at 22")}, id="thesis"),
        pytest.param({UNI: (DOES, "one hyper-period is exact", "0 of 77 deadlines missed"),
                      OVER: (DOES,), TIES: (MISSES, "1 of 3 deadlines missed")}, id="simulate"),
        pytest.param({system(1, (1, 4), (1, 5), (1, 6)): (TAKEN,), UNI: (OPEN, r"2\^\(1/n\)")},
                     id="ll-rm"),
        pytest.param({system(1, (1, 2), (3, 6)): (TAKEN,), system(1, (1, 2), (4, 7)): ("refuted",)},
                     id="qpa"),
        pytest.param({UNI: (TAKEN,), system(1, (2, 4), (2, 6), (3, 12)): ("refuted",)}, id="rta"),
        pytest.param({DHALL: (DOES, "partition next-fit", "0 migrations"),
                      system(2, *[(6, 10)] * 2, *[(4, 10)] * 2): ("fits on no",)}, id="next-fit"),
        pytest.param({CLUSTERS: (DOES, "cluster size 2", r" 1 migration of jobs \(0 across"),
                      LOOSE: (MISSES,)}, id="clustered"),
        pytest.param({system(2, *MOVES): ("migration 50", r" [1-9]\d* of \d+ deadlines missed"),
                      system(2, (1, 4), (1, 4)): ("0 of 2 deadlines missed",)}, id="costs"),
        pytest.param({system(2, *MOVES): ("no miss before 24", r" 1 migration of jobs \(0 across"),
                      system(3, (4, 4), *MOVES): (MISSES, "3 of 8 deadlines")}, id="across"),
    ],
)  # fmt: skip
def test_system(row: Row, answers: dict[str, tuple[str, ...]]) -> None:
    """Two systems at least of which it says different things: each by hand, or by another test."""
    for file, wanted in answers.items():
        says(row.run(FILE=file), *wanted)


def test_dhall(row: Row) -> None:
    row.command = row.command.replace("examples", str(ROOT / "examples"))
    says(row.run(), r"^schedulable: no, proved .*task 2 \(heavy\) misses its deadline at 22")


def test_loose(row: Row) -> None:
    says(row.run(FILE=LOOSE), "^schedulable: yes", "no published definition", r" 4 migrations")
    row.seen = "out of reach: its chapter is not in the sources, a reading is"


def test_survey(row: Row) -> None:
    found = {line.split()[0] for line in row.run().splitlines()}
    assert found >= {"gfb", "bak", "bar", "load", "bcl", "rta-edf", "ff-dbf"}


def test_generate(row: Row) -> None:
    row.run("--seed", "4")
    drawn = [json.loads(path.read_text()) for path in sorted(Path("systems").iterdir())]
    loads = [sum(t["wcet"] / t["period"] for t in each["tasks"]) for each in drawn]
    assert len(loads) == 10 and all(abs(load - 2.0) < 0.1 for load in loads)
    assert len({str(each) for each in drawn}) == 10


def test_influence(row: Row) -> None:
    """The hyper-period is an axis, and so are m, n and the law of utilisations."""
    laws = ("--utilisations", "randfixedsum,exponential", "--policy", "g-edf", "--sets", "10")
    row.run("--processors", "2,4", "--tasks", "6,8", "--utilisation", "0.9", *laws)
    found = table("runs/study/cells.csv")
    seen = {name: len({cell[name] for cell in found}) for name in found[0]}
    assert (seen["processors"], seen["tasks"], seen["source"], len(found)) == (2, 2, 4, 16)
    assert all(0 < float(cell["share"]) <= 1 for cell in found)


#: Preset -> sets of each cell, and conclusions that come out with them (!: refuted).
STUDIES = {
    "thesis-fig1": ("20", "distribution-matters narrower-is-better"),
    "thesis-fig2": ("8", "more-utilisation more-tasks simulation-finds-more"),
    "thesis-fig3": ("8", "more-utilisation more-tasks simulation-finds-more"),
    "thesis-grid": ("2", "more-processors-simulated more-processors-equation more-utilisation"
                    " same-pattern parameters-matter !none-with-many-tasks"),
    "thesis-region": ("2", "grows schedulable"),
    "thesis-fig4": ("1", "loose-over-clustered"),
    "thesis-fig5": ("2", "partitioned-never-migrates global-migrates-at-high-load"),
    "thesis-fig6": ("2", "global-among-the-largest"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("preset", STUDIES)
def test_study(row: Row, preset: str) -> None:
    """Verdicts of chance are not asked; these hold (!: do not) on a part of the sets already."""
    sets, names = STUDIES[preset]
    found = row.answer("--sets", sets, "--figures")
    verdicts = {each["id"]: each["verdict"] for each in found["conclusions"]}
    wanted = {n.strip("!"): "not confirmed" if "!" in n else "confirmed" for n in names.split()}
    assert {name: verdicts[name] for name in wanted} == wanted
    assert list(Path("runs", preset, "figures").glob("*.png"))


def test_soft(row: Row) -> None:
    grid = ("--processors", "2", "--tasks", "6", "--utilisation", "0.6,0.99", "--sets", "20")
    row.run(*grid, "--policy", "g-edf")
    easy, hard = table("runs/study/cells.csv")
    for name in ("response_mean", "response_max", "tardiness_max", "miss_ratio"):
        assert float(easy[name]) < float(hard[name])
    assert float(easy["miss_ratio"]) == 0
