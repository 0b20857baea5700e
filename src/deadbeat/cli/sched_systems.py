"""Task systems in and out, and what the lab knows: ``sched convert``, ``generate``, ``policies``,
``tests``."""

from __future__ import annotations

import json
import shlex
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import click
from attrs import asdict, evolve

from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import DeadbeatError, UsageError
from deadbeat.base.model.words import count_of
from deadbeat.base.store.texts import shown, text_of
from deadbeat.cli._output import say, table
from deadbeat.cli._signals import interruptible
from deadbeat.cli.each import named
from deadbeat.sched.analysis import tests as known_tests
from deadbeat.sched.files import (
    BYTES_MAX,
    FORMATS,
    TaskSystemFile,
    load_task_system,
    parse_task_system,
)
from deadbeat.sched.generators import Recipe, draw_chains, period_samplers, utilisation_samplers
from deadbeat.sched.generators import generate as drawn
from deadbeat.sched.simulator import option_words, tie_rules
from deadbeat.sched.simulator import policies as known_policies
from deadbeat.sched.tasksystems import task_system_text, write_task_system

T = TypeVar("T")

#: A file that is standard input or output.
STANDARD = "-"
#: Task systems of a folder that a terminal shows.
_ROWS = 50
#: After this a person wants to know that something is going on.
_PATIENCE_S = 3.0
_FLAGS = {
    "memoryless": "memoryless",
    "predictable": "predictable",
    "clusters": "clusters",
    "partitions": "partitions",
    "fixed_priority": "fixed priority",
    "implicit_only": "D = T only",
}
_FORMATS = tuple(f".{name}" for name in FORMATS)


def load(file: Path, processors: int | None, *, whole_cycles: bool = False) -> TaskSystemFile:
    """The task system in FILE, or on standard input; remarks are said."""
    data = b""
    try:
        if str(file) == STANDARD:
            # Closed (<&-) it is nothing at all.
            data = sys.stdin.buffer.read(BYTES_MAX) if sys.stdin else b""
            loaded = parse_task_system(
                data, source="standard input", processors=processors, whole_cycles=whole_cycles
            )
        else:
            loaded = load_task_system(file, processors=processors, whole_cycles=whole_cycles)
    except UsageError as error:
        raise _measured(file, data) or error from None
    for remark in loaded.remarks:
        say(remark)
    return loaded


def _measured(file: Path, data: bytes) -> UsageError | None:
    """What to do with a file of a tool that measures; None: it is none."""
    known = import_module("deadbeat.latencies.latency.foreign")
    try:
        if not data:
            with file.open("rb") as stream:
                data = stream.read(BYTES_MAX)
        text = text_of(data, name="", what="", hint="", limit=BYTES_MAX)
    except (DeadbeatError, OSError, ValueError):
        return None
    found = known.importer_of(text.text)
    if found is None:
        return None
    name = "standard input" if str(file) == STANDARD else shown(file)
    command = shlex.join(("deadbeat", "import", *[shown(file)] * (str(file) != STANDARD)))
    return UsageError(f"{name} is of {found.name}: no task system", command)


def in_folder(
    does: Callable[..., Shown],
    answers_of: Callable[[Any], Mapping[str, str]],
    folder: Path,
    processors: int | None,
) -> Shown:
    """What ``does`` answers of each task system in a folder, and how often it is which.

    Args:
        answers_of: From ``plain``: scheduler -> yes, no or undecided.

    Raises:
        UsageError: There is none, or one of the files is no task system.
    """
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in _FORMATS)
    if not files:
        raise UsageError(
            f"{folder} has no task system", "deadbeat sched generate --count 10 --out FOLDER"
        )
    for file in files:  # before any takes time
        load_task_system(file, processors=processors)
    say(f"{len(files)} task systems in {folder}")
    found = {file.name: does(file, processors=processors) for file in files}
    answers: dict[str, Counter[str]] = {}
    for each in found.values():
        for name, answer in answers_of(each.plain).items():
            answers.setdefault(name, Counter())[answer] += 1
    columns = ("yes", "no", "undecided")
    rows = [[name, *(f"{count[word]:,}" for word in columns)] for name, count in answers.items()]
    whole = f"of {len(files):,} task systems"
    each_file = [
        [name, *(" ".join(k for k, v in answers_of(it.plain).items() if v == word) or "-"
                 for word in columns[:2])]
        for name, it in found.items()
    ]  # fmt: skip
    rest = [f"{len(files) - _ROWS} more: --json"] if len(files) > _ROWS else []
    said = (f"{name} {count['yes']:,}" for name, count in answers.items())
    return Shown(
        headline=f"schedulable {whole}: {', '.join(said)}",
        plain={"systems": [{"file": name, **each.plain} for name, each in found.items()]},
        parts=[
            table(["schedulable", *columns], rows, title=whole, numeric=columns),
            table(["task system", *columns[:2]], each_file[:_ROWS]),
            *rest,
        ],
        cases=[named(name, case) for name, each in found.items() for case in each.cases],
        status=max(each.status for each in found.values()),
    )


def patiently(work: Callable[[], T], doing: str) -> T:
    """What ``work`` returns or raises: a long call into the core, which looks at no signal, in a
    thread, so that Ctrl-C ends it; says ``doing`` when it takes long.

    On KeyboardInterrupt (also by SIGTERM) the thread is left behind: it holds nothing, and ends
    with the process.
    """
    found: Future[T] = Future()

    def run() -> None:
        try:
            found.set_result(work())
        except BaseException as error:
            found.set_exception(error)

    with interruptible():
        threading.Thread(target=run, daemon=True).start()
        if wait([found], _PATIENCE_S).not_done:
            say(f"{doing} (Ctrl-C stops)")
        return found.result()


def convert(
    file: Path, out: Path, *, processors: int | None, whole_cycles: bool, force: bool
) -> None:
    to_stdout = str(out) == STANDARD
    if not to_stdout and out.suffix.lower() not in (".json", ".csv"):
        raise UsageError(f"{out}: not a format to write", "end OUT in .json or .csv")
    if not to_stdout and out.exists() and not force:
        raise UsageError(f"{out} exists", "choose another name, or give --force")
    system = load(file, processors, whole_cycles=whole_cycles).system
    if to_stdout:
        click.echo(task_system_text(system), nl=False)
        return
    write_task_system(out, system)
    count = count_of(len(system.tasks), "task")
    click.echo(f"{out}: {count} on {count_of(system.processors, 'processor')}")


def generate(
    *, count: int, seed: int, first: int, out: Path, force: bool, listing: bool, **fields: Any
) -> Shown | None:
    """``fields``: those of `Recipe`; what their values may be is its matter."""
    if listing:
        return generators()
    recipe = Recipe(**{name: value for name, value in fields.items() if value is not None})
    batch = drawn(recipe, seed=seed, count=count, first=first)
    words = f"{recipe.utilisations}, {recipe.periods}, U {recipe.utilisation:g}, seed {seed}"
    systems = [
        evolve(
            batch.system(i),
            name=f"{words}, system {first + i}",
            chains=draw_chains(recipe, seed=seed, number=first + i),
        )
        for i in range(count)
    ]
    if str(out) == STANDARD:
        texts = [task_system_text(system) for system in systems]
        if len(systems) > 1:
            texts = [json.dumps(json.loads(text), ensure_ascii=False) + "\n" for text in texts]
        click.echo("".join(texts), nl=False)
        return None
    paths = [out / f"system-{first + i:05d}.json" for i in range(count)]
    there = [path for path in paths if path.exists()]
    if there and not force:
        raise UsageError(
            f"{len(there)} of the files exist, for example {there[0]}",
            "choose another --out, or give --force",
        )
    for path, system in zip(paths, systems, strict=True):
        write_task_system(path, system)
    click.echo(f"{out}: {' to '.join(dict.fromkeys((paths[0].name, paths[-1].name)))}")
    return None


def generators() -> Shown:
    known = (("utilisations", utilisation_samplers()), ("periods", period_samplers()))
    names = ("name", "title", "reference")
    return Shown(
        plain={
            title: [{name: getattr(each, name) for name in names} for each in samplers.values()]
            for title, samplers in known
        },
        parts=[
            table(
                [title, "what it draws", "reference"],
                [[each.name, each.title, each.reference] for each in samplers.values()],
            )
            for title, samplers in known
        ],
    )


def policies() -> Shown:
    facts = known_policies().values()
    names = ("priorities", "partition", "order", "admission", "unplaced", "balance")
    words = {name: list(option_words(name)) for name in names}
    rows = [
        [
            *(each.name, each.title),
            ", ".join(text for name, text in _FLAGS.items() if getattr(each, name)),
            each.reference,
        ]
        for each in facts
    ]
    entries = [asdict(each) for each in facts]
    return Shown(
        plain={"policies": entries, "ties": list(tie_rules()), "options": words},
        parts=[
            table(["policy", "title", "is", "reference"], rows),
            f"--ties: {', '.join(tie_rules())}, all",
            *(f"--{name}: {', '.join(choices)}" for name, choices in words.items()),
        ],
    )


def tests() -> Shown:
    facts = known_tests().values()
    names = ("name", "scheduler", "kind", "deadlines", "model", "ties")
    rows = [
        [*(getattr(each, name) for name in names), f"{each.title}: {each.reference}"]
        for each in facts
    ]
    columns = ["test", *names[1:], "reference"]
    return Shown(plain={"tests": [asdict(each) for each in facts]}, parts=[table(columns, rows)])
