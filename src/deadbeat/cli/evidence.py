"""``deadbeat export --as evidence``: a result as a folder that an assessor reads and checks with
coreutils. Nothing is run for it, and one result always gives the same bytes."""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from deadbeat.base.kinds.base import ExperimentKind
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.words import Json, inside
from deadbeat.base.report.document import flatten
from deadbeat.base.store.derived import measured_files
from deadbeat.base.store.files import atomic_write, copy_file, file_hash, part_path, read_json
from deadbeat.base.store.place import FolderState
from deadbeat.cli._output import envelope

_MANIFEST, _STATEMENT_FILE = "manifest.sha256", "statement.json"
_STATEMENT, _PREDICATE = (
    "https://in-toto.io/Statement/v1",
    "https://in-toto.io/attestation/test-result/v0.1",
)
_LOST = ("jobs-lost", "events-cut", "gaps-lost", "marks-dropped")
_RESULTS = {"passed": "passedTests", "failed": "failedTests"}
_JUDGED = ("jobs", "late", "bursts", "longest", "weight", "allowed", "at_most", "attempts")
_READ = """What is in this folder, which deadbeat wrote of one result. It is checked with

    sha256sum -c --quiet manifest.sha256
    { cut -c67- manifest.sha256; find * -type f; } | sort | uniq -u

where the second names files that were added, beside manifest.sha256 itself. It is signed, if that
is wanted, as any file is: manifest.sha256 has the hash of all others that belong to it;
statement.json has those of the texts.

facts.txt          a line each: which program, machine, kernel, settings and tool; when; whether the
                   result is complete; what was changed; self-test; findings
requirements.txt   a block each: what is asked, verdict, jobs, late ones, bursts, bound, confidence
not-covered.txt    what this result does not show, was accepted, or lost
repeat.toml        how to measure it again
matrix.txt         which objective of a public standard a file supports; none is satisfied by it
statement.json     an in-toto statement of the test result, unsigned
answer.json        the whole answer, as deadbeat show --json prints it
result/            what was measured, file by file
"""


@frozen(kw_only=True)
class _Assessed:
    """A result: its head, and its answer, as JSON values."""

    kind: str
    shown: Shown
    state: FolderState
    head: Any
    plain: Any

    @property
    def spec(self) -> Any:
        return self.head.get("spec") or {}

    @property
    def labels(self) -> str:
        """What must show on every figure; "": it was measured."""
        return ", ".join(self.shown.document.labels if self.shown.document else ())

    @property
    def platform(self) -> Any:
        return self.head.get("platform") or {}


def bundle(kind: ExperimentKind, path: Path, out: Path) -> list[Path]:
    """Writes the evidence of a result, in place of an earlier one; the files. Raises UsageError:
    the folder holds something else, or nothing was measured."""
    _check_place(out, path)
    shown = kind.show(path)
    if shown.empty:
        raise UsageError(f"{path.name} holds no result yet", "measure first")
    head = read_json(path / kind.folder.file, what="head", hint="measure again", tool=True)
    found = _Assessed(
        kind=kind.name,
        shown=shown,
        state=kind.state_of(path),
        head=head,
        plain={**inside(shown.plain), "path": path.name, "report": None},
    )
    made = {
        "README.txt": _READ,
        "answer.json": _text(envelope(evolve(shown, plain=found.plain), kind.name)),
        "facts.txt": _lines(_facts(found)),
        "requirements.txt": _lines(_requirements(found)),
        "not-covered.txt": "".join(f"{line}\n" for line in _not_covered(found)),
        "repeat.toml": _repeat(found),
        "matrix.txt": "\n".join(_matrix()),
    }
    part = part_path(out)
    shutil.rmtree(part, ignore_errors=True)
    try:
        for name, text in made.items():
            atomic_write(part / name, text)
        for file in measured_files(path):
            copy_file(file, part / "result" / file.relative_to(path))
        hashes = {name: file_hash(part / name) for name in sorted(made)}
        atomic_write(part / _STATEMENT_FILE, _text(_statement(found, hashes)))
        names = sorted(str(each.relative_to(part)) for each in part.rglob("*") if each.is_file())
        lines = [f"{file_hash(part / name)}  {name}\n" for name in names]
        atomic_write(part / _MANIFEST, "".join(lines))
        if out.exists():
            shutil.rmtree(out)
        part.rename(out)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return [out / name for name in (*made, _STATEMENT_FILE, _MANIFEST)]


def _check_place(out: Path, path: Path) -> None:
    """Raises UsageError: it is in the result, or holds more than an earlier bundle."""
    if out.resolve().is_relative_to(path.resolve()):
        raise UsageError(f"--out: {out} is in the result itself", "name a folder elsewhere")
    manifest = out / _MANIFEST
    text = manifest.read_text(errors="replace") if manifest.is_file() else ""
    named = {line.partition("  ")[2] for line in text.splitlines()} | {_MANIFEST}
    there = {str(each.relative_to(out)) for each in out.rglob("*") if not each.is_dir()}
    if (out.exists() and not out.is_dir()) or there - named:
        raise UsageError(f"--out: {out} holds something else", "name a folder that is new")


def _text(value: Any) -> str:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, default=str) + "\n"


def _lines(found: Iterator[tuple[str, object]]) -> str:
    """``key: value``, each in one line."""
    return "".join(f"{key}: {' '.join(str(value).split())}\n" for key, value in found)


def _incomplete(found: _Assessed) -> list[str]:
    """Why a result is not complete; none: it is."""
    shown, state = found.shown, found.state
    findings = shown.document.findings if shown.document else ()
    why = [e.message for e in findings if e.id in _LOST and e.severity != "info"]
    why += [f"{state.failed} runs have no result"] * bool(state.failed)
    why += [f"{shown.invalid} runs are invalid"] * bool(shown.invalid)
    if shown.state not in ("finished", "measured"):
        asked = "not every requirement is decided" * bool(found.plain.get("requirements"))
        why.append(asked or f"it is {shown.state}: {state.done} of {state.planned} runs")
    why += [e.message for e in findings if e.id == "program-ended" and e.severity != "info"]
    if found.plain.get("requirements") and not found.head.get("program"):
        why.append("the program's file is not known by hash")
    why += [f"{found.plain.get('lost')} events were lost"] * bool(found.plain.get("lost"))
    return [*dict.fromkeys(why)]


def _facts(found: _Assessed) -> Iterator[tuple[str, object]]:
    head, state, lacking = found.head, found.state, _incomplete(found)
    yield "result", f"{state.name}, of deadbeat {found.kind}"
    yield "complete", f"no: {'; '.join(lacking)}" if lacking else "yes"
    yield "label", found.labels or "none: it was measured"
    yield "answer", f"{found.labels}: " * bool(found.labels) + found.shown.headline
    more = state.planned - state.done
    yield "runs", f"{state.done} done, {more} to be done, {state.failed} without a result"
    for key, name in (("program", "program"), ("commit", "program.commit"), ("tool", "tool")):
        yield from flatten(head.get(key) or "not recorded", name)
    yield "tool.sha256", head.get("wheel", "not recorded")
    for each in head.get("proof") or ():
        words = {True: "passed", False: "FAILED", None: "not done"}[each["passed"]]
        yield "self-test", f"{each['name']}: {words}: {each['words']}"
    if not head.get("proof"):
        yield "self-test", "none was run with this result"
    tuned = inside(found.platform.get("details")).get("tuned")
    yield "changed", f"{tuned or 'nothing'}: settings of the machine that deadbeat had changed"
    yield from flatten(found.platform, "machine")
    for finding in found.shown.document.findings if found.shown.document else ():
        yield f"finding.{finding.id}", f"{finding.severity}: {finding.message}"
    yield from flatten(found.spec, "asked")


def _requirements(found: _Assessed) -> Iterator[tuple[str, object]]:
    """What was judged: requirements with their bounds, else every condition of the result."""
    asked = found.plain.get("requirements") or ()
    if found.labels:
        yield "label", found.labels
    for each in asked:
        name = each["id"]
        for key in ("asked", "verdict", "why"):
            yield f"{name}.{key}", each[key]
        for key in _JUDGED:
            value = each[key]
            text = f"{value:.6g}" if isinstance(value, float) else value
            yield f"{name}.{key}", "-" if value is None else text
        yield f"{name}.assumed", "weight of bursts" if each["assumed"] else "nothing"
        how = "95 %, however often it is looked at" if each["allowed"] else "none: see why"
        yield f"{name}.confidence", how
    for case in () if asked else found.shown.cases:
        yield f"{case.group}.{case.name}", f"{case.verdict}: {case.message}"


def _not_covered(found: _Assessed) -> Iterator[str]:
    yield from [f"not measured: it is {found.labels}"] * bool(found.labels)
    yield from (f"incomplete: {each}" for each in _incomplete(found))
    for key in ("not_seen", "rules_not_seen"):
        yield from (f"not seen: {each}" for each in found.plain.get(key) or ())
    yield from (f"accepted by the user: {each}" for each in found.spec.get("allow") or ())
    for each in found.plain.get("requirements") or ():
        if each["verdict"] != "passed":
            yield f"not shown: {each['id']}: {each['why']}"
        if each["attempts"] > 1:
            before = found.head["earlier"][each["id"]]
            counts = f"{before['attempts']}, {before['jobs']} jobs, {before['bursts']['jobs']} late"
            yield f"not in this folder: {each['id']}: earlier attempts: {counts}"
    cpus = ", ".join(map(str, found.platform.get("cpus") or ())) or "unknown"
    yield f"machines and CPUs: this one alone, CPUs {cpus}, in the settings of facts.txt"
    beside = shlex.join(found.spec.get("beside") or ())
    yield f"loads beside it: {beside or 'none that deadbeat started'}"
    yield "modes, inputs and paths of the program that did not run"
    yield "worst cases: the largest that was seen is no bound; a bound is of the test that is named"


def _repeat(found: _Assessed) -> str:
    """A file of the command's parameters."""
    gate = " --fail-on requirement" * bool(found.spec.get("requirement"))
    tables = {key: value for key, value in found.spec.items() if isinstance(value, Mapping)}
    asked = tables.pop("requirement", {})
    tables |= {f"requirement.{json.dumps(id)}": each for id, each in asked.items()}
    top = _toml(found.spec | ({"repeats": found.state.done} if gate else {}))
    texts = [f"\n[{name}]\n{_toml(table)}" for name, table in tables.items()]
    return (
        f"# deadbeat {found.kind} --file repeat.toml{gate}\n"
        "# with the program, machine, kernel and settings of facts.txt; what is drawn by chance\n"
        f"# has its seed here, or is drawn from the names of runs.\n{top}{''.join(texts)}"
    )


def _toml(values: Mapping[str, Json]) -> str:
    """Keys with values and lists of values, in a form that TOML shares with JSON."""
    return "".join(
        f"{key} = {json.dumps(value, ensure_ascii=False)}\n"
        for key, value in values.items()
        if value not in (None, [], {})
        for inner in [value if isinstance(value, list) else [value]]
        if not any(isinstance(each, Mapping | list) for each in inner)
    )


def _matrix() -> Iterator[str]:
    for file in sorted(files("deadbeat.cli").joinpath("standards").iterdir(), key=lambda f: f.name):
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        yield table["title"]
        for each in table["objective"]:
            yield f"\n{each['id']}: {each['asks']}"
            yield f"  supports: {each['supports']}"
            yield f"  not: {each['not']}"
    yield ""


def _statement(found: _Assessed, made: Mapping[str, str]) -> Json:
    """An in-toto statement; its subject are the program's files, else the answer. ``made``: hashes
    of the other files."""
    every = found.shown.cases
    cases = [case for case in every if case.group.endswith(".requirement")] or every
    names = {
        key: [case.name for case in cases if _RESULTS.get(case.verdict, "warnedTests") == key]
        for key in ("passedTests", "warnedTests", "failedTests")
    }
    warned = names["warnedTests"] or _incomplete(found) or found.labels
    answer = hashlib.sha256(found.shown.headline.encode()).hexdigest()
    digests = found.head.get("program") or {f"answer of {found.state.name}": answer}
    return {
        "_type": _STATEMENT,
        "subject": [{"name": k, "digest": {"sha256": v}} for k, v in digests.items()],
        "predicateType": _PREDICATE,
        "predicate": {
            "result": "FAILED" if names["failedTests"] else "WARNED" if warned else "PASSED",
            "configuration": [{"name": name, "digest": {"sha256": h}} for name, h in made.items()],
            **names,
        },
    }
