"""Truth: the sources' own figures and sentences. Each statement is held, by its command, against
results that confirm it, that refute it, and that lack one of its premises."""

from collections.abc import Callable
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from helpers import seldom
from helpers.answers import Capture, answer_of
from helpers.boards import board, drawn_sets, flat, grid, latency, load

from deadbeat.cli.main import main


#: What the pictures of the contention paper show (Figures 4 and 5), in a formula.
def paper(m: int, rho: float, alpha: float) -> float:
    c = rho * alpha
    return 1 + {1: 0.0, 4: 0.15 * c, 8: 9 * c**8, 16: min(8.5, 20 * c)}[m]


def by_cores(m: int, rho: float, alpha: float) -> float:
    return 1 + (m - 1) / 8 * (rho * alpha > 0)


def changed(by: Callable[[int, float, float], float]) -> Callable[[int, float, float], float]:
    """Slowdowns with half the paper's contention, times another kernel's own."""
    return lambda m, r, a: (1 + 0.05 * (m - 1) * r * a) * by(m, r, a)


def newer(m: int, rho: float, alpha: float) -> float:
    return 1.01 if m <= 4 else 0.9


def real_time(m: int, rho: float, alpha: float) -> float:
    return 1.05 if (m, rho, alpha) == (16, 1, 1) else 1 - 0.1 * rho * alpha


def misses(often: float, tail: float) -> Callable[[int, float, float], float]:
    """A set in which little is shared misses nothing, most miss ``often``, a few ``tail``."""
    return lambda m, r, a: 0.0 if r * a < 0.1 else tail if r * a > 0.7 else often


OLD, NEW = (board(cpus=16, kernel=k, preemption="full") for k in ("5.15.1 #1", "6.12.3 #1"))
RT, LAZY = board(cpus=16), board(cpus=16, kernel="6.6.1 #1", preemption="lazy")
ELSEWHERE = board(cpus=16, soc="other", preemption="full")
TWO = {"cores": (4, 16), "axis": (0, 1), "sets": 4}
BOTH = {"cores": [1, 2], "sets": 700}
SHIELD = {"critical_cores": [0, 4], "contended_ratio": 0}
MANY = {"idle": 40, "cpu-25": 55, "cpu-50": 83, "cpu-75": 60, "cpu-100": 70}
WEAK, LOW = ({load: by * top for load, top in MANY.items()} for by in (3, 1 / 3))
ON = {"details": {"hardening": {"INIT_ON_ALLOC": "on: y", "INIT_ON_FREE": "on: y"}}}
BARE = {"details": {"hardening": {"INIT_ON_ALLOC": "off: n", "INIT_ON_FREE": "off: n"}}}
#: Tables 1.2 and 1.3 of the load paper: threads -> failures a second.
FAILS = {1: 0, 2: 0, 3: 0, 4: 0, 5: 2, 6: 5, 7: 5, 8: 5}
NONE = dict.fromkeys(FAILS, 0)
EVENTS = {
    "branch_misses": lambda slow: 1000 + slow * 1e6 % 97,
    "cache_misses": lambda slow: 100 * 2.718 ** (3 * slow),
    "context_switches": lambda slow: 100 * min(slow, 2.2) - 20 * max(0.0, slow - 2.2),
}
TURNED = {
    "branch_misses": lambda slow: 1000 * slow,
    "cache_misses": lambda slow: 1000 * slow,
    "context_switches": lambda slow: 1000 / slow,
}
WIDE = {"cores": [2, 4], "sets": 48}
HEDERA = partial(latency, kernel="2.6.31.12 #1", preemption="full")
MISSING = partial(
    grid, cores=(4, 8), axis=(0.25, 0.5, 0.75, 1), surface=lambda m, r, a: 1 + (m - 4) * r * a / 8
)
FIG11 = partial(drawn_sets, asked=WIDE, counters=True, surface=lambda m, r, a: 1 + m * r * a)

FOLDERS: dict[str, Callable[..., None]] = {
    "one": partial(grid, cores=(1,)),
    "slope": partial(grid, cores=(1,), surface=lambda m, r, a: 0.9 + 0.2 * r),
    "off": partial(grid, pace=1.3),
    "off-8": partial(grid, cores=(4, 8, 16), pace=1.3, surface=paper),
    "balanced": partial(grid, cores=(1, 4), axis=(0, 1), sets=1, mix="balanced"),
    "four": partial(grid, surface=paper),
    "slow-one": partial(grid, pace=1.04, surface=lambda m, r, a: 1.17 if m > 1 else 1.0),
    "steep": partial(grid, surface=lambda m, r, a: 1 + 0.4 * (m > 1) * r * a),
    "four-alone": partial(grid, cores=(4,), surface=paper),
    "many": partial(grid, cores=(4, 8, 16), surface=paper),
    "flat": partial(grid, cores=(4, 8, 16)),
    "follow": partial(MISSING, misses=lambda m, r, a: 0.4 * r * a * (m > 4)),
    "early": partial(MISSING, misses=lambda m, r, a: 0.4 * r * a),
    "shield": partial(drawn_sets, asked=SHIELD, surface=lambda *_: 1.15),
    "calm": partial(drawn_sets, asked=SHIELD),
    "calm-replayed": partial(
        drawn_sets, asked=SHIELD, place=board(cpus=16, kind="extrapolated")
    ),
    "bare": partial(drawn_sets, asked={"contended_ratio": 0}),
    "shield-8": partial(drawn_sets, asked={**SHIELD, "cores": [8]}),
    "mode-1": partial(grid, cores=(1, 2), axis=(0, 1), surface=by_cores),
    "mode-2": partial(drawn_sets, asked=BOTH, surface=by_cores),
    "against": partial(
        drawn_sets, asked={**BOTH, "sets": 200}, surface=lambda m, r, a: by_cores(3 - m, 1, 1)
    ),
    "mode-1-old": partial(grid, cores=(1, 2), axis=(0, 1), surface=by_cores, place=OLD),
    **{
        name: partial(grid, **TWO, place=place, surface=changed(by), salt=salt)
        for salt, (name, place, by) in enumerate([
            ("old", OLD, flat), ("old-again", OLD, flat), ("new", NEW, newer),
            ("worse", NEW, lambda *_: 1.2), ("rt", RT, real_time), ("rt-worse", RT, lambda *_: 1.1),
            ("plain", NEW, flat), ("plain-again", NEW, flat), ("lazy", LAZY, newer),
            ("elsewhere", ELSEWHERE, newer),
            ("extreme", RT, lambda m, r, a: 0.9),
        ])
    },
    **{
        name: partial(drawn_sets, sets=60, asked={"cores": [4]}, place=place, misses=by)
        for name, place, by in (
            ("m-plain", NEW, misses(0.05, 0.3)), ("m-rt", RT, misses(0.0, 0.6)),
            ("m-old", OLD, misses(0.05, 0.3)), ("m-rt-bad", RT, lambda *_: 0.2),
        )
    },
    **{
        f"{name}-{d}c": partial(
            drawn_sets, sets=20 + 2 * d, factor=d, place=place, misses=lambda *_, by=by: by
        )
        for name, place, d, by in (
            ("rt", RT, 2, 0.35), ("rt-low", RT, 2, 0.1), ("new", NEW, 2, 0.35),
            ("rt", RT, 10, 0.01), ("new", NEW, 10, 0.02), ("old", OLD, 10, 0.03),
            ("rt-bad", RT, 10, 0.09),
        )
    },
    "rt-8": partial(drawn_sets, asked={"cores": [8]}, factor=2, misses=lambda *_: 0.35),
    "rt-other": partial(drawn_sets, factor=2, misses=lambda *_: 0.35, policy="other"),
    "figure-11": partial(FIG11, counts=EVENTS),
    "turned": partial(FIG11, counts=TURNED),
    "alone-11": partial(FIG11, asked={**WIDE, "contended_ratio": 0}, counts=EVENTS),
    "l-rt": partial(latency, maxima_us=MANY, **BARE),
    "l-hard": partial(latency, maxima_us={k: v * 1.08 for k, v in MANY.items()}, **ON),
    "l-harder": partial(latency, maxima_us={k: v * 42 for k, v in MANY.items()}, **ON),
    "l-hard-mean": partial(latency, maxima_us=MANY, mean_us=12, **ON),
    "l-hard-full": partial(latency, maxima_us=MANY, preemption="full", **ON),
    "l-late": partial(latency, maxima_us={**MANY, "cpu-50": 151}),
    "l-idle": partial(latency, maxima_us={"idle": 40}),
    "l-other": partial(latency, maxima_us=MANY, policy="other"),
    "l-none": partial(latency, maxima_us=WEAK, preemption="none"),
    "l-none-low": partial(latency, maxima_us=LOW, preemption="none"),
    "l-none-5": partial(latency, maxima_us=WEAK, preemption="none", kernel="5.15.1"),
    "l-imported": partial(latency, maxima_us=MANY, preemption="unknown", kernel="6 PREEMPT_RT"),
    "l-mini": partial(latency, maxima_us=MANY, services=20),
    "l-big": partial(latency, maxima_us=WEAK, services=35),
    "l-big-fast": partial(latency, maxima_us=LOW, services=35),
    "l-big-board": partial(latency, maxima_us=WEAK, services=35, soc="other"),
    "hedera-rt": partial(latency, maxima_us={"mixed-100": 58}, kernel="2.6.31.12-rt #1"),
    "hedera": partial(HEDERA, maxima_us={"mixed-100": 2465}),
    "hedera-900": partial(HEDERA, maxima_us={"mixed-100": 900}),
    "hedera-none": partial(HEDERA, maxima_us={"mixed-100": 2465}, preemption="none"),
    "hedera-idle": partial(HEDERA, maxima_us={"idle": 2465}),
    "table-1": partial(load, plain=FAILS, remedied=NONE),
    "early-1": partial(load, plain={**FAILS, 3: 2}, remedied={**NONE, 8: 2}),
    "flat-cpus": partial(load, plain=FAILS, remedied=NONE, cores=None),
    "few-1": partial(load, plain={n: FAILS[n] for n in (1, 2, 3, 4)}),
    "pinned": partial(load, plain=FAILS, remedied=NONE, remedies=("pin", "governor")),
    "sound": partial(load, plain=NONE, remedied=NONE),
    "other-1": partial(load, plain=FAILS, remedied=NONE, policy="other"),
}  # fmt: skip
#: A line for each: observation or statement, results, verdict, what its reason says.
CASES = Path(__file__).with_name("statements.txt").read_text(encoding="utf-8").splitlines()[1:]
#: A case of each that is quick: the first, but for the one of 1400 sets its last.
FIRST = [[*group] for _, group in groupby(CASES, lambda case: case.split("|")[0])]
FIRST = [group[-1 if "mode-1 mode-2" in group[0] else 0] for group in FIRST]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.mark.parametrize("case", FIRST + seldom(*((c,) for c in CASES if c not in FIRST)))
def test_each_statement_says_what_its_results_say(runs: Path, capsys: Capture, case: str) -> None:
    what, names, verdict, because = (part.strip() for part in case.split("|"))
    for name in names.split():
        if not (runs / name).exists():
            FOLDERS[name](runs, name)
    numbered = what[0].isdigit()
    asked = (what[0],) if numbered else ("--of", what)
    capsys.readouterr()
    status = main(("observe", *asked, "--from", *names.split(), "--runs", str(runs), "--json"))
    every: Any = answer_of(capsys.readouterr().out)["observations" if numbered else "statements"]
    lacks = [each["verdict"].startswith(("needs ", "not judged")) for each in every]
    cores = any(each["verdict"].startswith("needs >") for each in every)
    assert status == 2 * (all(lacks) and not cores)
    (told,) = [e for e in every if not numbered or f"{e['number']}{e['part']}" == what]
    assert told["verdict"] == verdict
    assert because in str(told["because"])


@pytest.mark.usefixtures("in_a_folder")
def test_a_stored_result_is_judged_and_a_made_up_one_is_not(capsys: Capture) -> None:
    quick = ("load", "--quick", "--simulated", "--no-figures")
    assert main(quick) == 0
    capsys.readouterr()
    assert main(("observe", "--of", "threads-exceed-cores", "--from", "load-quick")) == 0
    out = capsys.readouterr().out
    assert out.startswith("Failures begin once threads exceed cores: NO VERDICT: A MADE-UP MACHINE")
    assert main(("observe", "--of", "rt-below-150us", "load-quick")) == 2
    assert "NEEDS 1 OF DEADBEAT LATENCY" in capsys.readouterr().out
    assert main(("observe", "--of", "forty")) == 2
    assert "did you mean forty-times?" in capsys.readouterr().err
