"""``deadbeat import``: results of other tools, and where other files belong."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import is_zipfile

from attrs import evolve

from deadbeat.base.kinds.base import Begin
from deadbeat.base.kinds.registry import find, kind_of
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import DataError, DeadbeatError, UsageError
from deadbeat.base.model.specification import Layer
from deadbeat.base.store.place import point_latest
from deadbeat.base.store.texts import LIMIT, shown
from deadbeat.cli._help import SET
from deadbeat.cli._measure import Ended, carried_out, report
from deadbeat.cli._options import words_typed
from deadbeat.cli._output import say
from deadbeat.cli.archive import unpack
from deadbeat.latencies.gaps import GapRun
from deadbeat.latencies.latency.foreign import UnknownFormatError
from deadbeat.sched.files import load_task_system

#: Loaded by name: it measures, too.
_LATENCY, _TRACES = "deadbeat.latencies.latency.kind", "deadbeat.program.foreign.base"


def import_files(*, files: Sequence[str], **options: Any) -> Shown:
    """Reads ``files``, or standard input, into one result."""
    if not files and sys.stdin is not None and sys.stdin.isatty():
        say("reading standard input; Ctrl-D ends it")
    files = files or ("-",)
    with _as_file(files[0]) if len(files) == 1 else nullcontext() as piped:
        return _imported(files=files, piped=piped, **options)


@contextmanager
def _as_file(file: str) -> Iterator[Path | None]:
    """What comes through a pipe, as a file that is read as standard input, too; None: a file is
    named."""
    stdin = sys.stdin
    fifo = False
    with suppress(OSError):  # no file: it is said where it is read
        fifo = Path(file).is_fifo()
    if stdin is None or not (file == "-" or fifo):
        yield None
        return
    with TemporaryDirectory(prefix="deadbeat-") as folder, ExitStack() as held:
        path = Path(folder, "trace")
        kept = held.enter_context(path.open("w+b"))
        try:
            stream = stdin.buffer if file == "-" else held.enter_context(Path(file).open("rb"))
            kept.write(stream.read(LIMIT + 1))
            kept.flush()
            if import_module(_TRACES).format_of(path):
                shutil.copyfileobj(stream, kept)
            kept.seek(0)
        except OSError as error:
            raise DataError(f"cannot read {_called(file)}: {error.strerror or error}") from error
        held.callback(setattr, sys, "stdin", stdin)
        sys.stdin = TextIOWrapper(kept)
        yield path


def _called(file: str) -> str:
    return "standard input" if file == "-" else shown(file)


def _imported(
    *,
    files: Sequence[str],
    piped: Path | None,
    load: str | None,
    unit: str | None,
    process: str | None,
    deadline: str | None,
    allow: str | None,
    fail_on: str | None,
    fresh: bool,
    runs: Path,
    figures: bool | None,
    **given: str | None,
) -> Shown:
    if piped is None and len(files) == 1 and (files[0].endswith(".zip") or is_zipfile(files[0])):
        given |= {"load": load, "unit": unit, "process": process, "deadline": deadline}
        _nothing_beside("an archive of a result", files, {**given, "fail-on": fail_on})
        kind, path = find(runs, str(unpack(Path(files[0]), runs, given["name"], fresh=fresh)))
        point_latest(runs, path.name)
        return kind.show(path)
    asked = Layer()
    for key, value in given.items():
        if value is not None:
            asked.put("deadlines" if key == "limits" else key, value, f"--{key}")
    begin = Begin(
        runs=runs,
        typed=asked.values,
        names=asked.names,
        named="name" in asked.values,
        fresh=fresh,
        given={"files": ("-",) if piped else files, "load": load, "unit": unit},
        words=words_typed("import"),
        say=say,
    )
    if (form := _trace_format(files, piped, {**given, "load": load, "unit": unit})) is not None:
        for key, value in (("deadline", deadline), ("allow", allow)):
            if value is not None:
                asked.put(key, value, f"--{key}" if key == "deadline" else f"{SET} {key}")
        more = {"trace": piped or Path(files[0]), "form": form, "process": process}
        more |= {"called": _called(files[0])} if piped else {}
        begin = evolve(begin, given=more, typed=asked.values, names=asked.names)
        kind = kind_of("run")
        begun, _ = carried_out(kind, begin)
        answer = report(kind, begun, figures)
        ended = Ended(path=begun.experiment.store.path, shown=answer)
        return evolve(answer, status=ended.status(fail_on))
    of_traces = (("--process", process), ("--deadline", deadline), ("--fail-on", fail_on))
    for option, value in (*of_traces, (f"{SET} allow", allow)):
        if value is not None and (piped or Path(files[0]).exists()):
            what = f"{_called(files[0])} is no trace that is known"
            raise UsageError(f"{option} is of traces: {what}", "leave it out")
    latency = import_module(_LATENCY)
    try:
        brought = latency.bring(begin)
    except UnknownFormatError as error:
        if file := next(filter(_holds_tasks, [] if piped else map(Path, files)), None):
            command = f"deadbeat sched analyze {shlex.quote(shown(file))}"
            raise UsageError(f"{shown(file)} holds tasks, no result", command) from None
        forms = ", ".join(each.name for each in import_module(_TRACES).trace_formats())
        error.hint += f"; of traces: {forms}"
        raise error
    read: dict[str, Any] = {**begin.given, "brought": brought}
    kind = kind_of("latency")
    if brought[0].said.gaps is not None:
        kind = kind_of("noise")
        read |= {"brought": [*map(_gaps, brought)], "place": latency.place_of(begin, brought)}
    begun, _ = carried_out(kind, evolve(begin, given=read))
    return report(kind, begun, figures)


def _trace_format(files: Sequence[str], piped: Path | None, given: Mapping[str, str | None]) -> Any:
    """The format of the file, if it is a trace, else None. Raises UsageError: there is more beside
    it."""
    format_of = import_module(_TRACES).format_of
    found = [(file, form) for file in files if (form := format_of(piped or Path(file)))]
    if not found:
        return None
    if len(files) > 1:
        raise UsageError(f"{shown(found[0][0])} is a trace", "import one at a time")
    _nothing_beside("a trace", files, given)
    return found[0][1]


def _nothing_beside(what: str, files: Sequence[str], given: Mapping[str, str | None]) -> None:
    """Raises UsageError: an option is given that is not of ``what``."""
    if extra := [f"--{key}" for key in given if key != "name" and given[key] is not None]:
        raise UsageError(f"{extra[0]} is not of {what} ({_called(files[0])})", "leave it out")


def _gaps(run: Any) -> GapRun:
    said = run.said
    return GapRun(
        file=run.file,
        load=run.key.load.text,
        tool=said.engine,
        repeat=run.key.repeat,
        started=said.started,
        version=said.version,
        gaps=said.gaps,
        notes=said.notes,
    )


def _holds_tasks(file: Path) -> bool:
    try:
        load_task_system(file, processors=1)
    except DeadbeatError:
        return False
    return True
