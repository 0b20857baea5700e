"""``deadbeat export --as evidence``: a result as a folder that an assessor reads and checks with
coreutils. Nothing is run for it, and one result always gives the same bytes."""

from __future__ import annotations

import hashlib
import json
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from deadbeat.base.kinds.base import ExperimentKind
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.words import Json, inside
from deadbeat.base.report.document import flatten
from deadbeat.base.store.derived import measured_files
from deadbeat.base.store.files import atomic_write, file_hash, read_bytes, read_json
from deadbeat.base.store.place import HEADS, FolderState
from deadbeat.cli._output import envelope

_MANIFEST = "manifest.sha256"
_STATEMENT, _PREDICATE = (
    "https://in-toto.io/Statement/v1",
    "https://in-toto.io/attestation/test-result/v0.1",
)
_RESULTS = {"passed": "passedTests", "failed": "failedTests"}
_JUDGED = ("jobs", "late", "bursts", "longest", "weight", "allowed", "at_most", "attempts")
_READ = """What is in this folder, which deadbeat wrote of one result. It is checked with

    sha256sum --check --quiet manifest.sha256

and signed, if that is wanted, as any file is: manifest.sha256 has the hash of all others.

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


def bundle(kind: ExperimentKind, path: Path, out: Path) -> list[Path]:
    """Writes the evidence of a result; the files. Raises UsageError: the folder is not empty, or
    nothing was measured."""
    _make_room(out)
    if out.resolve().is_relative_to(path.resolve()):
        raise UsageError(f"--out: {out} is in the result itself", "name a folder elsewhere")
    shown, state = kind.show(path), kind.state_of(path)
    if shown.empty:
        raise UsageError(f"{path.name} holds no result yet", "measure first")
    head = next((name for name in HEADS if (path / name).is_file()), None)
    facts = read_json(path / head, what="head", hint="measure again", tool=True) if head else {}
    said = envelope(shown, kind.name)
    said["results"] = {**inside(shown.plain), "path": path.name, "report": None}
    made = {
        "README.txt": _READ,
        "answer.json": _text(said),
        "facts.txt": _lines(_facts(shown, state, facts, said)),
        "requirements.txt": _lines(_requirements(shown)),
        "not-covered.txt": "".join(f"{line}\n" for line in _not_covered(shown, state, facts)),
        "repeat.toml": _repeat(kind, facts),
        "matrix.txt": "\n".join(_matrix()),
        "statement.json": _text(_statement(shown, state, facts)),
    }
    copies = {f"result/{file.relative_to(path)}": file for file in measured_files(path)}
    hashes = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in made.items()}
    hashes |= {name: file_hash(file) for name, file in copies.items()}
    for name, text in made.items():
        atomic_write(out / name, text)
    for name, file in copies.items():
        atomic_write(out / name, read_bytes(file, what="file", hint="measure again"))
    manifest = "".join(f"{hashes[name]}  {name}\n" for name in sorted(hashes))
    atomic_write(out / _MANIFEST, manifest)
    return [out / name for name in (*made, _MANIFEST)]


def _make_room(out: Path) -> None:
    """Removes the files of an earlier bundle. Raises UsageError: there are others."""
    manifest = out / _MANIFEST
    text = manifest.read_text(errors="replace") if manifest.is_file() else ""
    named = {line.partition("  ")[2] for line in text.splitlines()} | {_MANIFEST}
    there = [each for each in out.rglob("*") if not each.is_dir()] if out.is_dir() else []
    if (out.exists() and not out.is_dir()) or {str(e.relative_to(out)) for e in there} - named:
        raise UsageError(f"--out: {out} holds something else", "name a folder that is new")
    for each in there:
        each.unlink()


def _inside(value: Any) -> Mapping[str, Any]:
    return inside(value)


def _text(value: Any) -> str:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, default=str) + "\n"


def _lines(found: Iterator[tuple[str, object]]) -> str:
    """``key: value``, each in one line."""
    return "".join(f"{key}: {' '.join(str(value).split())}\n" for key, value in found)


def incomplete(shown: Shown, state: FolderState) -> list[str]:
    """Why a result is not complete; none: it is."""
    lost = ("jobs-lost", "events-cut", "gaps-lost", "marks-dropped")
    found = [each.message for each in (shown.document.findings if shown.document else ())
             if each.id in lost and each.severity != "info"]  # fmt: skip
    found += [f"{state.failed} runs have no result"] * bool(state.failed)
    found += [f"{shown.invalid} runs are invalid"] * bool(shown.invalid)
    if shown.state not in ("finished", "measured"):
        found.append(f"it is {shown.state}: {state.done} of {state.planned} runs")
    plain = _inside(shown.plain)
    if lost_events := plain.get("lost"):
        found.append(f"{lost_events} events were lost")
    return [*dict.fromkeys(found)]


def _facts(
    shown: Shown, state: FolderState, head: Mapping[str, Any], said: Mapping[str, Any]
) -> Iterator[tuple[str, object]]:
    lacking = incomplete(shown, state)
    yield "result", f"{state.name}, of deadbeat {said['kind']}"
    yield "complete", f"no: {'; '.join(lacking)}" if lacking else "yes"
    yield "answer", shown.headline
    yield "runs", f"{state.done} of {state.planned} planned, {state.failed} without a result"
    for key, name in (("program", "program"), ("commit", "program.commit"), ("tool", "tool")):
        for path, value in flatten(head.get(key) or "not recorded", name):
            yield path, value
    yield "tool.sha256", head.get("wheel", "not recorded")
    proof = head.get("proof")
    if not isinstance(proof, Sequence) or not proof:
        yield "self-test", "none was run with this result"
    for each in proof or ():
        words = {True: "passed", False: "FAILED", None: "not done"}[each["passed"]]
        yield "self-test", f"{each['name']}: {words}: {each['words']}"
    platform = _inside(head.get("platform", {}))
    tuned = _inside(platform.get("details", {})).get("tuned")
    yield "changed", f"{tuned or 'nothing'}: settings of the machine that deadbeat had changed"
    for path, value in flatten(platform, "machine"):
        yield path, value
    for each in shown.document.findings if shown.document else ():
        yield f"finding.{each.id}", f"{each.severity}: {each.message}"
    for path, value in flatten(_inside(head.get("spec", {})), "asked"):
        yield path, value


def _requirements(shown: Shown) -> Iterator[tuple[str, object]]:
    """What was judged: requirements with their bounds, else every condition of the result."""
    asked = _inside(shown.plain).get("requirements")
    for each in asked if isinstance(asked, list) else ():
        yield f"{each['id']}.asked", each["asked"]
        yield f"{each['id']}.verdict", each["verdict"]
        yield f"{each['id']}.why", each["why"]
        for key in _JUDGED:
            value = each[key]
            yield f"{each['id']}.{key}", f"{value:.6g}" if isinstance(value, float) else value
        yield f"{each['id']}.assumed", "weight of bursts" if each["assumed"] else "nothing"
        how = "95 %, however often it is looked at" if each["allowed"] else "of a test, not of runs"
        yield f"{each['id']}.confidence", how
    if not asked:
        for case in shown.cases:
            yield f"{case.group}.{case.name}", f"{case.verdict}: {case.message}"


def _not_covered(shown: Shown, state: FolderState, head: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"incomplete: {each}" for each in incomplete(shown, state))
    plain, spec = _inside(shown.plain), _inside(head.get("spec", {}))
    for key in ("not_seen", "rules_not_seen"):
        for each in plain.get(key) or ():
            yield f"not seen: {each}"
    for each in spec.get("allow") or ():
        yield f"accepted by the user: {each}"
    for each in plain.get("requirements") or ():
        if each["verdict"] != "passed":
            yield f"not shown: {each['id']}: {each['why']}"
    platform = _inside(head.get("platform", {}))
    cpus = ", ".join(map(str, platform.get("cpus") or ())) or "unknown"
    yield f"machines and CPUs: this one alone, CPUs {cpus}, in the settings of facts.txt"
    beside = shlex.join(spec.get("beside") or ())
    yield f"loads beside it: {beside or 'none that deadbeat started'}"
    yield "modes, inputs and paths of the program that did not run"
    yield "worst cases: the largest that was seen is no bound; a bound is of the test that is named"


def _repeat(kind: ExperimentKind, head: Mapping[str, Any]) -> str:
    spec = _inside(head.get("spec", {}))
    tables = [f"\n[requirement.{json.dumps(id)}]\n{_toml(_inside(each))}"
              for id, each in _inside(spec.get("requirement", {})).items()]  # fmt: skip
    rest = {key: value for key, value in spec.items() if key != "requirement"}
    plain = {key: value for key, value in rest.items() if not isinstance(value, Mapping)}
    inner = [
        f"\n[{key}]\n{_toml(value)}" for key, value in rest.items() if isinstance(value, Mapping)
    ]
    return (
        f"# deadbeat {kind.name} --file repeat.toml\n"
        "# with the program, machine, kernel and settings of facts.txt; what is drawn by chance\n"
        "# has its seed here, or is drawn from the names of runs.\n"
        f"{_toml(plain)}{''.join(inner)}{''.join(tables)}"
    )


def _toml(values: Mapping[str, Json]) -> str:
    kept = {key: value for key, value in values.items() if value not in (None, [], {})}
    return "".join(
        f"{key} = {json.dumps(value)}\n" for key, value in kept.items() if not _nested(value)
    )


def _nested(value: Json) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, list) and any(isinstance(each, Mapping | list) for each in value)
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


def _statement(shown: Shown, state: FolderState, head: Mapping[str, Any]) -> dict[str, Any]:
    asked = [case for case in shown.cases if case.group.endswith(".requirement")]
    cases = asked or [*shown.cases]
    names: dict[str, list[str]] = {"passedTests": [], "warnedTests": [], "failedTests": []}
    for case in cases:
        names[_RESULTS.get(case.verdict, "warnedTests")].append(case.name)
    warned = names["warnedTests"] or incomplete(shown, state)
    result = "FAILED" if names["failedTests"] else "WARNED" if warned else "PASSED"
    programs = _inside(head.get("program", {}))
    digests = {str(name): str(value) for name, value in programs.items()}
    answer = hashlib.sha256(shown.headline.encode()).hexdigest()
    subject = [
        {"name": name, "digest": {"sha256": value}}
        for name, value in (digests or {f"answer of {state.name}": answer}).items()
    ]
    return {
        "_type": _STATEMENT,
        "subject": subject,
        "predicateType": _PREDICATE,
        "predicate": {"result": result, "configuration": [], **names},
    }
