"""Answers for other programs: JUnit XML and GitHub annotations of verdicts, OpenMetrics of figures.

Sources: the JUnit layout of Apache Ant as Jenkins and GitLab read it; GitHub, "Workflow commands";
OpenMetrics 1.0.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal
from xml.etree import ElementTree

from attrs import frozen

from deadbeat.base.model.words import Json

CaseVerdict = Literal["passed", "failed", "undecided", "skipped"]
#: What a column's name calls its unit: the base unit of OpenMetrics, and how many of it that is.
UNITS = {
    "bytes_per_ns": ("bytes_per_second", 1e9),
    "per_s": ("per_second", 1.0),
    "ns": ("seconds", 1e-9),
    "hours": ("seconds", 3600.0),
    "seconds": ("seconds", 1.0),
    "bytes": ("bytes", 1.0),
    "percent": ("percent", 1.0),
}
_UNIT = re.compile(f"(?:^|_)({'|'.join(UNITS)})(?=_|$)")
#: What XML 1.0 cannot hold.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@frozen(kw_only=True)
class Verdicted:
    """Something that passed, failed, or could not be read.

    Attributes:
        name: Stable. ``group``: what it belongs to.
        verdict: ``skipped``: unknown, or not asked for; ``undecided``: asked for, and not known.
        weight: How bad it is, beside others of its group.
    """

    name: str
    verdict: CaseVerdict
    message: str = ""
    group: str = ""
    weight: float = 0.0


def junit(suite: str, cases: Sequence[Verdicted], properties: Mapping[str, str]) -> str:
    words = Counter(case.verdict for case in cases)
    head = {
        "name": _xml(suite),
        "tests": str(len(cases)),
        "failures": str(words["failed"]),
        "errors": "0",
        "skipped": str(words["skipped"] + words["undecided"]),
    }
    root = ElementTree.Element("testsuites")
    element = ElementTree.SubElement(root, "testsuite", head)
    held = ElementTree.SubElement(element, "properties")
    for name, value in properties.items():
        ElementTree.SubElement(held, "property", {"name": _xml(name), "value": _xml(value)})
    for case in cases:
        names = {"name": _xml(case.name), "classname": _xml(f"deadbeat.{case.group or suite}")}
        own = ElementTree.SubElement(element, "testcase", names)
        if case.verdict == "passed":
            if case.message:
                ElementTree.SubElement(own, "system-out").text = _xml(case.message)
            continue
        tag = "failure" if case.verdict == "failed" else "skipped"
        ElementTree.SubElement(own, tag, {"message": _xml(case.message)})
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def annotated(cases: Iterable[Verdicted]) -> Iterator[str]:
    """A line for each failed case, which GitHub shows beside the change."""
    for case in cases:
        if case.verdict in ("failed", "undecided"):
            level = "error" if case.verdict == "failed" else "warning"
            title = _escaped(f"deadbeat: {case.name}").replace(":", "%3A").replace(",", "%2C")
            yield f"::{level} title={title}::{_escaped(case.message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def openmetrics(
    what: str, rows: Iterable[Mapping[str, Json]], keys: Sequence[str], labels: Mapping[str, str]
) -> str:
    """Figures of a table as OpenMetrics text, in base units, which end the names.

    Args:
        what: Part of every name: ``deadbeat_WHAT_COLUMN``.
        rows: What is a number is a gauge, but for the ``keys``, which are labels with ``labels``.
    """
    families: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        own = {**labels, **{key: f"{row[key]}" for key in keys if row.get(key) is not None}}
        text = ",".join(f'{name}="{label_text(value)}"' for name, value in own.items())
        for key, value in row.items():
            if key in keys or isinstance(value, bool) or not isinstance(value, int | float):
                continue
            found = _UNIT.search(key)
            unit, factor = UNITS[found[1]] if found else ("", 1.0)
            words = [f"deadbeat_{what}", *_UNIT.sub("", key, 1).split("_"), unit]
            name = re.sub(r"[^a-zA-Z0-9_]", "_", "_".join(filter(None, words)))
            if math.isfinite(value):
                families.setdefault((name, unit), {}).setdefault(text, value * factor)
    lines = []
    for (name, unit), samples in sorted(families.items()):
        lines += [f"# TYPE {name} gauge"]
        lines += [f"# UNIT {name} {unit}"] if unit else []
        lines += [f"{name}{{{text}}} {value:.12g}" for text, value in samples.items()]
    return "\n".join([*lines, "# EOF", ""])


def label_text(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
