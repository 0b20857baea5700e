"""Truth: first use. A behaviour is a line: command, status, what is said; on every kind of screen.

On terminals of 80 and of 40 columns no line is wider than the screen, but for a word that cannot
be broken; in a pipe, and without colour, nothing is coloured; everywhere the same is said.
"""

import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.kinds import every_folder
from helpers.terminal import Terminal

from deadbeat.cli.main import main

EXAMPLES = Path(__file__).parents[2] / "examples" / "sched"
#: Command, exit status, pattern of what is said. RESULT is a made-up result of that kind.
BEHAVIOURS = f"""
--version                                     | 0 | deadbeat [0-9.]+
nosuch                                        | 2 | there is no command "nosuch"
list                                          | 0 | name .* latency
list results                                  | 0 | contention .* finished
list findings                                 | 0 | simulated
list fragments --simulated                    | 0 | fragment kind class
list generators                               | 0 | randfixedsum
list keys contention                          | 0 | run.seconds
list keys nosuch                              | 2 | there is no verb nosuch
list knobs                                    | 0 | governor
list options                                  | 0 | --time-budget
list pictures                                 | 2 | is gone .today: deadbeat compare A B
list policies                                 | 0 | g-edf
list studies                                  | 0 | thesis-fig1
list tests                                    | 0 | gfb
list nosuch                                   | 2 | "nosuch" is not a choice
show latency                                  | 0 | Worst wake-up: .* wake-up latency
show load                                     | 0 | misses .* cause, shown: .* 19 of 19 runs
show contention                               | 0 | Sharing .* 1.611 .* 8 of 8 runs, 0 failed
show stress                                   | 0 | Of 6 .* M=2 .* random .* 6 of 6 runs
show breakdown                                | 0 | full at
show interfere                                | 0 | matmul
show primitives                               | 0 | alloc
show run                                      | 0 | control
show study                                    | 0 | g-edf
show simulated                                | 0 | What to do:
show g-edf                                    | 0 | scheduling policy .* Dhall
show futex                                    | 0 | fragment .* mutex
show realtime                                 | 0 | profile of tune
show nosuch                                   | 2 | there is no result nosuch
why contention                                | 0 | job
why stress                                    | 2 | measure with --causes
why load                                      | 2 | load
page latency --no-figures                     | 0 | Worst wake-up .* page: .*report.html
page nosuch                                   | 2 | there is no result nosuch
compare latency latency                       | 2 | .
compare latency load                          | 2 | nothing in common
predict nosuch                                | 2 | there is no result nosuch
export contention --as csv --out OUT/tables   | 0 | summary.csv
export latency --as openmetrics               | 0 | deadbeat_latency
export latency --as evidence --out OUT/e.json | 0 | e.json
export latency --as c --out OUT/c             | 2 | .
export load --as csv                          | 2 | say where: --out
export contention --as nosuch                 | 2 | "nosuch" is not a choice
import OUT/nosuch                             | 3 | nosuch
doctor --prove --simulated --duration 1       | 0 | injected-delay .* passed .* passed
tune apply nosuch                             | 2 | nosuch
tune status --root nosuch                     | 2 | nosuch
latency --simulated --quick --loads nosuch    | 2 | nosuch
run nosuch-program                            | 2 | nosuch-program
primitives --simulated --tests nosuch         | 2 | nosuch
interfere --simulated --works nosuch          | 2 | nosuch
sched simulate {EXAMPLES}/dhall.json          | 0 | schedulable: no, proved
sched simulate {EXAMPLES}/vehicle.json        | 0 | schedulable: yes, proved .* 1,000
sched simulate {EXAMPLES}/dhall.json --fail-on miss | 1 | --fail-on miss
sched analyze {EXAMPLES}/vehicle.json         | 0 | p-edf: schedulable, proved
sched generate --seed 1 --out OUT             | 0 | system-00000.json
sched convert nosuch OUT/x.json               | 2 | nosuch
sched study nosuch                            | 2 | nosuch
lab run                                       | 2 | no kernel is named
"""
ROWS = [tuple(map(str.strip, line.split("|", 2))) for line in BEHAVIOURS.strip().splitlines()]
SCREENS = {"terminal of 80 columns": 80, "terminal of 40 columns": 40, "pipe": None}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("screens")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        every_folder(Path("runs"))
    yield folder


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize(("command", "status", "pattern"), ROWS)
def test_it_says_so_on_every_screen(  # noqa: PLR0917  rows and fixtures
    command: str, status: str, pattern: str, screen: str,
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(results)
    columns = SCREENS[screen]
    made = [Terminal() if columns else io.StringIO() for _ in range(2)]
    monkeypatch.setenv("COLUMNS", str(columns or 200))
    monkeypatch.setenv("TERM", "dumb")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", made[0])
        patch.setattr(sys, "stderr", made[1])
        found = main(tuple(command.replace("OUT", str(tmp_path)).split()))
    text = "".join(each.getvalue() for each in made)
    assert found == int(status), text
    said = pattern.partition(" .*")[0] if columns == 40 else pattern  # some columns are left out
    assert re.search(said.replace(" .* ", ".*"), " ".join(text.split())), text
    if columns:
        wide = [line for line in text.splitlines() if len(line) > columns]
        assert [line for line in wide if max(map(len, line.split())) <= columns // 3] == []
    else:
        assert "\x1b" not in text
        assert [line for line in text.splitlines() if line != line.rstrip()] == []
