"""Pieces of pages: every text of a campaign is escaped here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from html import escape

from deadbeat.model.finding import Finding, explained, ordered
from deadbeat.model.results import Summary
from deadbeat.report import facts

#: Tables up to this many rows are shown unfolded.
_SHORT_TABLE = 8

#: ``--retry-failed``: hyphens are places where a line may end.
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def banner(labels: Iterable[str]) -> str:
    """What holds for every figure; empty without labels."""
    texts = [escape(label) for label in labels]
    if not texts:
        return ""
    return (
        f'<p class="banner" id="labels"><strong>{" · ".join(texts)}</strong> — '
        "holds for every figure on this page.</p>"
    )


def noise(floor: facts.NoiseFloor) -> str:
    """The smallest effect and what it rests on."""
    words = f"{floor.text[:1].upper()}{floor.text[1:]}"
    text = f'<span id="smallest-effect">{escape(words)}</span>'
    return f"{text} ({escape(floor.basis)})." if floor.basis else f"{text}."


def prose(text: str) -> str:
    """Escaped; an option of the command line is never cut at the end of a line."""
    return _OPTION.sub(r'<span class="option">\g<0></span>', escape(text))


def findings_list(findings: Sequence[Finding], labels: Iterable[str] = ()) -> str:
    """The serious findings, the others folded; ``labels`` of what they are about."""
    found = ordered(findings)
    if not found and any(label.lower().startswith("simulated") for label in labels):
        return "<p>No finding. But these results are simulated: they say nothing of a machine.</p>"
    if not found:
        return "<p>Nothing was found that makes these results doubtful.</p>"
    serious = [item for item in found if item.severity not in ("warning", "info")]
    others = found[len(serious) :]
    shown = f"{_listed(serious)}{_doubts(serious)}" if serious else ""
    if not others:
        return shown
    more = " more" if serious else ""
    head = f"{facts.counted(len(others), 'finding')}{more}, none serious"
    known = {explained(item.id) for item in serious}
    rest = _doubts(item for item in others if explained(item.id) not in known)
    return f"{shown}<details><summary>{head}</summary>{_listed(others)}{rest}</details>"


def _listed(findings: Iterable[Finding]) -> str:
    return f'<ul class="findings">{"".join(map(_finding, findings))}</ul>'


def _finding(finding: Finding) -> str:
    where = f' <span class="where">Where: {escape(finding.where)}</span>' if finding.where else ""
    cure = f' <span class="cure">What to do: {prose(finding.cure)}</span>' if finding.cure else ""
    return (
        f'<li class="{finding.severity}"><span class="severity">{finding.severity.capitalize()}:'
        f"</span> {prose(finding.message)}{where}{cure}{_why_link(finding)}</li>"
    )


def _why_link(finding: Finding) -> str:
    doubt = explained(finding.id)
    if doubt is None:
        return ""
    return f' <a class="why" href="#why-{escape(doubt.id)}">what this does to the numbers</a>'


def _doubts(findings: Iterable[Finding]) -> str:
    """The paragraph of every finding of the page, once each, in the order of the findings."""
    found = [explained(finding.id) for finding in findings]
    doubts = {doubt.id: doubt for doubt in found if doubt is not None}
    if not doubts:
        return ""
    paragraphs = "".join(
        f'<div><dt id="why-{escape(doubt.id)}">{escape(doubt.title)}</dt>'
        f"<dd>{prose(doubt.wrong)} <em>What to do:</em> {prose(doubt.check)}</dd></div>"
        for doubt in doubts.values()
    )
    return f'<h3>Why these numbers may be wrong</h3><dl class="terms">{paragraphs}</dl>'


def session(record: facts.Session) -> str:
    """Changed values stay in sight; the others fold away."""
    changed = record.changed
    keys = sorted(record.before.keys() | record.after.keys())
    same = [key for key in keys if key not in set(changed)]
    parts = [f"<h4>{escape(record.title)}</h4>"]
    if not record.after:
        parts.append("<p>The state afterwards was not recorded: the session was cut off.</p>")
    elif not changed:
        parts.append("<p>Nothing differs between before and after.</p>")
    else:
        parts.append(_before_after(changed, record))
    if same:
        parts.append(
            f"<details><summary>{len(same)} values "
            f"{'that did not change' if record.after else 'before'}</summary>"
            f"{_before_after(same, record)}</details>"
        )
    return "".join(parts)


def _before_after(keys: Iterable[str], session: facts.Session) -> str:
    lines = "".join(
        _state_line(key, session.before.get(key), session.after.get(key)) for key in keys
    )
    return (
        '<table class="plain"><thead><tr><th scope="col">what</th><th scope="col">before</th>'
        '<th scope="col">after</th><th scope="col" class="mark">difference</th></tr></thead>'
        f"<tbody>{lines}</tbody></table>"
    )


def _state_line(key: str, before: str | None, after: str | None) -> str:
    """A value before and after; a change is marked by a word, and by its amount if it has one."""
    mark = ""
    if before is not None and after is not None and before != after:
        mark = "changed"
        with suppress(ValueError):
            mark = f"changed by {float(after) - float(before):+.6g}"
    elif before != after:
        mark = "not there before" if before is None else "not there after"
    kind = ' class="differs"' if mark else ""
    return (
        f'<tr{kind}><th scope="row">{escape(key)}</th><td>{escape(before or "–")}</td>'
        f"<td>{escape(after or '–')}</td><td>{escape(mark)}</td></tr>"
    )


def pairs_table(pairs: Iterable[tuple[str, str]]) -> str:
    """A line per pair, or that nothing is recorded."""
    lines = "".join(
        f'<tr><th scope="row">{escape(key)}</th><td>{escape(value)}</td></tr>'
        for key, value in pairs
    )
    return f'<table class="plain"><tbody>{lines}</tbody></table>' if lines else missing()


def folded(pairs: Iterable[tuple[str, str]]) -> str:
    """A table, folded away when it is long."""
    pairs = tuple(pairs)
    if len(pairs) <= _SHORT_TABLE:
        return pairs_table(pairs)
    return f"<details><summary>{len(pairs)} values</summary>{pairs_table(pairs)}</details>"


def none() -> str:
    """Nothing, in words."""
    return "<p>None.</p>"


def missing() -> str:
    """Not recorded, in words."""
    return f"<p>{escape(facts.UNKNOWN.capitalize())}.</p>"


def definitions(pairs: Iterable[tuple[str, str]], kind: str = "") -> str:
    """Definition list entries; wrapped in a list of class ``kind`` when one is given."""
    items = "".join(
        f"<div><dt>{escape(term)}</dt><dd>{escape(text)}</dd></div>" for term, text in pairs
    )
    return f'<dl class="{kind}">{items}</dl>' if kind else items


def together(text: str) -> str:
    """Escaped, with "ρ = 1" and "1 %" kept on one line."""
    return escape(text).replace(" = ", "&nbsp;=&nbsp;").replace(" %", "&nbsp;%")


def listed(items: Iterable[str], kind: str) -> str:
    """A list of items that are markup already; empty without any."""
    lines = "".join(f"<li>{item}</li>" for item in items)
    return f'<ul class="{kind}">{lines}</ul>' if lines else ""


def cell_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, id: str, kind: str = ""
) -> str:
    """A table of texts with a heading row; the first cell of each row names it."""
    first = ' class="text"'
    head = "".join(
        f'<th scope="col"{"" if place else first}>{escape(text)}</th>'
        for place, text in enumerate(columns)
    )
    lines = "".join(
        f'<tr><th scope="row" class="text">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(text)}</td>" for text in row[1:])
        + "</tr>"
        for row in rows
    )
    named = f' class="{kind}"' if kind else ""
    return f'<table id="{id}"{named}><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>'


def scrolled(table: str, name: str) -> str:
    """A table that scrolls by itself where the page is narrow; ``name`` is read aloud."""
    label = escape(name)
    return f'<div class="scroll" role="region" aria-label="{label}" tabindex="0">{table}</div>'


def circumstances(summary: Summary) -> str:
    """Calibration, environment, failed runs, platform and parameters of a campaign."""
    states = "".join(session(item) for item in facts.sessions(summary)) or missing()
    failed = pairs_table(facts.failed_runs(summary)) if summary.meta.get("failed") else none()
    return (
        f"<h3>Calibration</h3>\n{folded(facts.calibration(summary))}\n"
        f"<h3>Environment before and after</h3>\n{states}\n"
        f"<h3>Failed runs</h3>\n{failed}\n"
        f"<h3>Platform</h3>\n{folded(facts.flatten(facts.platform(summary)))}\n"
        f"<h3>Parameters</h3>\n{folded(facts.parameters(summary))}"
    )
