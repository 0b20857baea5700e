"""From the words of a command to the folder of a measured program: what is run, where, how often,
and which result is continued."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from attrs import asdict, evolve

from deadbeat.base.kinds.base import Begin, Begun
from deadbeat.base.kinds.table import begun_store
from deadbeat.base.model.errors import DeadbeatError, UsageError
from deadbeat.base.model.platform import Platform, example_platform
from deadbeat.base.model.specification import read
from deadbeat.base.model.words import Json, duration, shortened
from deadbeat.base.store.files import read_toml, tool_hash
from deadbeat.base.store.place import PROGRAM, no_result
from deadbeat.build.programs import toolchain_of
from deadbeat.machine.host.environment import environment_of, platform_from_environment
from deadbeat.machine.host.proc import task_of
from deadbeat.machine.settings.tune import with_tuning
from deadbeat.machine.targets.base import Target, is_here
from deadbeat.machine.targets.guarded import check_user, ended_words, found
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.machine.targets.opening import opened
from deadbeat.program.derive.twin import twin_of
from deadbeat.program.run import keeping, kept
from deadbeat.program.run.attempts import Attempt, attempt, earlier, facts_of
from deadbeat.program.run.designs import MOST
from deadbeat.program.run.experiment import ProgramExperiment
from deadbeat.program.run.exported import recorded
from deadbeat.program.run.imported import imported
from deadbeat.program.run.proving import prove
from deadbeat.program.run.required import ahead
from deadbeat.program.run.results import FIRST, FOLDERS, ProgramKey, ProgramStore, plan
from deadbeat.program.run.spec import BEST, ProgramSpec, processes
from deadbeat.program.run.tries import knobs_of
from deadbeat.program.run.twin import built

#: Without what a repository may have git run.
_GIT = (
    "git() { command git --no-optional-locks"
    ' -c core.fsmonitor=false -c core.hooksPath=/dev/null "$@"; }; '
    'cd "$1" && git rev-parse --short HEAD && git status --porcelain -uno'
)

#: A hash and a name a line.
_SUMS = """executable=$(command -v -- "$1"); shift
for file in "$executable" "$@"; do
    [ -f "$file" ] && echo "$(sha256sum <"$file" | cut -c-64) $(basename "$(readlink -f "$file")")"
done"""

#: Turns of changes, and the longest run where neither is given.
_TURNS, _TURN_S = 5, 10.0

#: What a turn takes beside the program, and a search of designs, s; about twice what it took here.
_TURN_TAKES_S, _SEARCH_TAKES_S = 2.0, 15.0

#: Runs, and their length, s, where requirements are to be decided and neither is given.
_RUNS_MOST, _RUN_S = 9_999, 10.0


def begin(asked: Begin) -> Begun:
    """Makes the folder of a measured program, or finds the one to continue."""
    if path := asked.given.get("trace"):
        store = imported(asked, path)
        return Begun(
            experiment=ProgramExperiment(
                read(ProgramSpec, store.spec), store=store, planned=[FIRST]
            )
        )
    base, typed = asked.without_preset({"quick": {"duration": 10.0}})
    spec = read(ProgramSpec, base, asked.written, typed, names=asked.names)
    on = keeping.watched_before(spec, asked)
    if on is not None:
        spec = read(ProgramSpec, on.spec, asked.written, typed, names=asked.names)
        asked = evolve(asked, retry_failed=True, retry_invalid=True)
    if bool(spec.command or spec.twin_of) is bool(spec.pid):
        raise UsageError("run takes a program, or --pid", "give one of them")
    if spec.against or spec.tries:
        spec = _in_turns(spec, asked)
    target = opened(asked)
    pids, learns, locks = _process(asked, spec, on, target)
    begun, lasts = (read(ProgramSpec, on.spec) if on else spec), spec.duration
    spec = evolve(spec, stop=False, pid=begun.pid, duration=begun.duration)
    if spec.tries and spec.pid[1:]:
        raise UsageError("--try changes one process", "give one --pid")
    if spec.tries and (target is None or target.boot_s):
        raise UsageError("--try runs a program again and again", "on a machine that runs")
    if spec.pid and target and target.boot_s:
        raise UsageError(f"--pid: {target.name} boots for a program of its own", "name that")
    if spec.build:
        _build(spec.build)
    spec, lacks = _as_twin(spec, asked, target)
    if spec.command and target:
        found(spec.command[0], target)
    if spec.user and target:
        check_user(spec.user, target)
    words = (
        spec.command
        or tuple(_comm(pid, target) if target else "program" for pid in pids)
        or (spec.name,)
    )
    if "name" not in {*asked.written, *asked.typed}:
        spec = evolve(spec, name=f"{spec.twin_of}-twin" if spec.twin_of else _named(words))
    platform = _platform(target) if target else example_platform()
    spec = _to_decide(spec, asked)
    runs = [FIRST] if spec.requirement else plan(spec)
    if spec.keep and on is not None:
        done = sorted(on.committed())
        runs = [*done, *[ProgramKey(max(each.repeat for each in done) + 1 if done else 1)] * learns]
    exes = [f"/proc/{pid}/exe" for pid in pids if not spec.keep]  # that may be replaced
    hashes = _hashes(spec.command or exes, target)
    each_s = spec.learn if spec.keep else None if asked.simulated else spec.duration
    store = begun_store(
        FOLDERS,
        asked,
        spec,
        platform,
        runs,
        seconds=lambda left: None if each_s is None or spec.requirement else left * each_s,
        differs=lambda store: _rebuilt(store, hashes),
        ready=lambda left: {
            "commit": _commit(words, target),
            "program": hashes,
            **_before(spec, asked, target, left, attempt(spec.command, hashes, platform)),
        },
        details=f"{shortened(shlex.join(spec.command)) or processes(pids or spec.pid)},"
        f" {f'{each_s:g} s each' if each_s else 'each until it ends'}"
        f"{', again until its requirements are decided' * bool(spec.requirement)}",
    )
    experiment = ProgramExperiment(
        evolve(spec, pid=pids),
        target,
        toolchain_of(target, cross=asked.cross) if target else None,
        2 if asked.as_json else None,
        asked.say,
        lacks,
        store=store,
        planned=runs,
        retry_invalid=asked.retry_invalid,
    )
    then = None
    if spec.keep and target and is_here(target):
        state = store.path / keeping.KEPT / keeping.STATE
        locks.append(keeping.locked(state, f"for {store.path.name}"))
        then = partial(keeping.keep_on, pids, lasts, store, toolchain_of(target), locks)
    return Begun(experiment=experiment, beside=spec.beside, then=then)


def _platform(target: Target) -> Platform:
    environment = environment_of(target, now=datetime.now(UTC), more={})
    made = platform_from_environment(environment, kind=target.kind, name=target.name)
    return with_tuning(made, target)


def _to_decide(spec: ProgramSpec, asked: Begin) -> ProgramSpec:
    """How often, and for how long, it is run so that requirements are decided."""
    if not spec.requirement:
        return spec
    if spec.tries or spec.keep or spec.pid:
        raise UsageError(
            "requirements are of a program that is run", "without --try, --keep, --pid"
        )
    if "repeats" not in {*asked.written, *asked.typed}:
        spec = evolve(spec, repeats=_RUNS_MOST if any(r.share for r in spec.requirement) else 1)
    return evolve(spec, duration=spec.duration or _RUN_S)


def _build(words: str) -> None:
    with LocalTarget() as here:
        done = here.run(("sh", "-c", words))
    if done.returncode:
        last = (done.stderr or done.stdout).strip().rpartition("\n")[2]
        raise DeadbeatError(f"{words} ended {ended_words(done.returncode)}: {last}")


def _hashes(words: Sequence[str], target: Target | None) -> dict[str, str]:
    """SHA-256 by name: the executable, wherever it is, and files among its arguments."""
    if not words:
        return {}
    with LocalTarget() as here:
        other = target is not None and not target.boot_s and found(words[0], target)
        there = target if target and other else here
        lines = there.run(("sh", "-c", _SUMS, "sh", *words)).stdout.splitlines()
    return {name: each for each, _, name in (line.partition(" ") for line in lines)}


def _rebuilt(store: ProgramStore, now: dict[str, str]) -> Iterator[str]:
    """That its runs were of other files than there are ``now``, as a predicate."""
    begun = store.facts.get("program", {})
    if other := [name for name, each in now.items() if begun.get(name, each) != each]:
        yield f"was begun with another {' and '.join(other)}"


def _before(
    spec: ProgramSpec, asked: Begin, target: Target | None, left: int, own: Attempt
) -> dict[str, Json]:
    """Says how long a decision takes; what is known of requirements, and whether this tool sees
    what is late here."""
    if not spec.requirement:
        return {}
    known = earlier(asked.runs, own, spec.requirement)
    for each in spec.requirement:
        if text := ahead(each, known[each.id]):
            asked.say(text)
    proof = prove(target, toolchain_of(target, cross=asked.cross)) if target and left else ()
    return {
        **facts_of(own, known),
        "wheel": tool_hash(),
        "proof": [asdict(each) for each in proof],
    }


def _process(
    asked: Begin, spec: ProgramSpec, on: ProgramStore | None, target: Target | None
) -> tuple[tuple[int, ...], bool, list[int]]:
    """Which processes, whether they are to be learned, and what keeps others from watching them.
    What was kept on another machine is brought here."""
    if not spec.keep or target is None:
        return spec.pid, True, []
    given = spec.pid if "pid" in {**asked.written, **asked.typed} else ()
    pids, learns = keeping.process_of(given, on, target)
    for pid in pids * learns:
        _comm(pid, target)
    if is_here(target):
        locks = [keeping.locked(Path(f"/proc/{pid}"), f"process {pid}") for pid in pids]
        return pids, learns, locks
    if on is not None:
        said = keeping.fetch(on, target, stop=spec.stop)
        for line in (*[said] * bool(said), *kept.absorb(on.path, target)):
            asked.say(line)
        learns = learns and bool(said) and not spec.stop
    return pids, learns, []


def _as_twin(
    spec: ProgramSpec, asked: Begin, target: Target | None
) -> tuple[ProgramSpec, tuple[str, ...]]:
    """The twin of a result as program, made where none is given, and what it lacks."""
    if not spec.twin_of:
        return spec, ()
    if (path := PROGRAM.find(asked.runs, spec.twin_of)) is None:
        raise no_result(asked.runs, spec.twin_of)
    if spec.name == path.name:
        raise UsageError(f"--name {spec.name} is the result that it is the twin of", "name another")
    made = twin_of(*recorded(path))
    command = spec.command
    if not command:
        command = (str(built(made, toolchain_of(target, cross=asked.cross))),) if target else ("-",)
    return evolve(spec, twin_of=path.name, command=command), made.lacks


def _in_turns(spec: ProgramSpec, asked: Begin) -> ProgramSpec:
    """How often, and for how long, changes are tried, if the user lets us."""
    given = {*asked.written, *asked.typed}
    spec = evolve(
        spec,
        tries=(*spec.tries, *["version"] * (bool(spec.against) and "version" not in spec.tries)),
        duration=spec.duration or _TURN_S,
        repeats=spec.repeats if "repeats" in given else _TURNS,
    )
    for word in spec.tries:
        if word.partition(":")[0] == "tune":
            knobs_of(word.partition(":")[2])
        if word.partition(":")[0] == "design":
            read_toml(Path(word.partition(":")[2]), "a design", "name a TOML file", "mend it")
    more = MOST * any(word.startswith(BEST) for word in spec.tries)
    most, each = spec.repeats * (1 + len(spec.tries) + more), spec.duration or 0
    what = f"{processes(spec.pid)} watched" if spec.pid else f"{spec.command[0]} is run"
    asked.agree(
        f"{what} {most} times at most, for {each:g} s at most, with changes:"
        f" {duration(most * (each + _TURN_TAKES_S) + _SEARCH_TAKES_S * (more > 0))} at most"
    )
    return spec


def _comm(pid: int, target: Target) -> str:
    """Name of a process. Raises UsageError: there is none."""
    task = task_of(target.read_text(f"/proc/{pid}/stat") or "")
    if task is None:
        raise UsageError(f"--pid: no process {pid} there", "check the number: ps -e")
    if task.kernel:
        text = f"--pid: {pid} is a thread of the kernel ({task.name})"
        raise UsageError(text, "name a program's")
    return task.name


def _commit(command: Sequence[str], target: Target | None) -> str:
    """Commit of the program's repository, with + where that has changes; "": none. Asked as the
    owner of its folder, as a repository names programs that git runs."""
    files = [path.resolve() for path in _files(command)]
    if target is None or not is_here(target) or not files:
        return ""
    owner = files[-1].parent.stat()
    other = (f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}", "--clear-groups")
    words = ("setpriv", *other) if owner.st_uid != os.geteuid() else ("env",)
    words = (*words, "sh", "-c", f"{{ {_GIT}; }} 2>/dev/null", "sh", str(files[-1].parent))
    said = target.run(words)
    commit, *changes = said.stdout.splitlines() or [""]
    return commit + "+" * bool(changes)


def _files(command: Sequence[str]) -> Iterator[Path]:
    """Words that are files; no text that is too long for one."""
    for word in command:
        with suppress(OSError, ValueError):
            if Path(word).is_file():
                yield Path(word)


def _named(command: Sequence[str]) -> str:
    """After the last word that is a file: the script, not the interpreter or ``chrt`` before it."""
    name = [Path(command[0]), *_files(command)][-1].stem
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_")[:64]
    return "program" if plain in ("", "latest") else plain
