"""A Summary as one self-contained HTML page.

All text of a campaign is untrusted: it is escaped here, or embedded as data and only ever set as
text. The page's Content-Security-Policy allows nothing but the scripts that are written into it, by
their hash, so neither a name with markup nor the plotting library can load or run anything else.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from html import escape
from importlib import metadata
from string import Template

from deadbeat.model.doubts import doubt_of
from deadbeat.model.results import Finding, Summary
from deadbeat.report import facts, predicted
from deadbeat.report.data import encode, page_data
from deadbeat.report.embed import asset, content_policy, plotly
from deadbeat.report.glossary import TERMS
from deadbeat.report.headline import CoreAnswer, headline

#: Tables up to this many rows are shown unfolded.
_SHORT_TABLE = 8

_SEVERITIES = {"serious": 0, "warning": 1, "info": 2}


def render(summary: Summary) -> str:
    """The page as text; the same summary gives the same page."""
    script, library = asset("page.js"), plotly()
    answer = headline(summary)
    name = facts.campaign_name(summary)
    return Template(asset("page.html")).substitute(
        policy=content_policy(library, script),
        title=escape(f"{name} – deadbeat report"),
        style=asset("page.css"),
        name=escape(name),
        banner=_banner(facts.labels(summary)),
        head_facts=_pairs(facts.head_facts(summary)),
        sentence=_together(answer.sentence),
        answers=_list(
            (f"<b>M = {item.cores}</b><span>{_lines(item)}</span>" for item in answer.per_cores),
            "answers",
        ),
        noise=_noise(facts.noise_floor(summary)),
        findings=_findings(summary.findings) + _doubts(summary.findings),
        predicted_title=predicted.title(summary),
        predicted=predicted.section(summary),
        calibration=_folded(facts.calibration(summary)),
        sessions="".join(_session(session) for session in facts.sessions(summary)) or _missing(),
        failed=_table(facts.failed_runs(summary)) if summary.meta.get("failed") else _none(),
        platform=_folded(facts.flatten(facts.platform(summary))),
        parameters=_folded(facts.parameters(summary)),
        glossary=_pairs(TERMS, "terms"),
        version=escape(metadata.version("deadbeat")),
        data=encode(page_data(summary)),
        plotly=library,
        script=script,
    )


def _banner(labels: Iterable[str]) -> str:
    texts = [escape(label) for label in labels]
    if not texts:
        return ""
    return (
        f'<p class="banner" id="labels"><strong>{" · ".join(texts)}</strong> — '
        "holds for every figure on this page.</p>"
    )


def _noise(floor: facts.NoiseFloor) -> str:
    text = f'<span id="noise-floor">{escape(floor.text)}</span>'
    return f"{text} ({escape(floor.basis)})." if floor.basis else f"{text}."


def _findings(findings: Iterable[Finding]) -> str:
    ordered = sorted(findings, key=lambda item: _SEVERITIES.get(item.severity, 0))
    if not ordered:
        return "<p>Nothing was found that makes these results doubtful.</p>"
    return '<ul class="findings">' + "".join(map(_finding, ordered)) + "</ul>"


def _finding(finding: Finding) -> str:
    kind = finding.severity if finding.severity in _SEVERITIES else "serious"
    where = f' <span class="where">Where: {escape(finding.where)}</span>' if finding.where else ""
    cure = f' <span class="cure">What to do: {escape(finding.cure)}</span>' if finding.cure else ""
    return (
        f'<li class="{kind}"><span class="severity">{escape(finding.severity.capitalize())}:'
        f"</span> {escape(finding.message)}{where}{cure}{_why_link(finding)}</li>"
    )


def _why_link(finding: Finding) -> str:
    doubt = doubt_of(finding.id)
    if doubt is None:
        return ""
    return f' <a class="why" href="#why-{escape(doubt.id)}">what this does to the numbers</a>'


def _doubts(findings: Iterable[Finding]) -> str:
    """The paragraph of every finding of the page, once each, in the order of the findings."""
    found = [doubt_of(finding.id) for finding in findings]
    doubts = {doubt.id: doubt for doubt in found if doubt is not None}
    if not doubts:
        return ""
    paragraphs = "".join(
        f'<div><dt id="why-{escape(doubt.id)}">{escape(doubt.title)}</dt>'
        f"<dd>{escape(doubt.wrong)} <em>What to do:</em> {escape(doubt.check)}</dd></div>"
        for doubt in doubts.values()
    )
    return f'<h3>Why these numbers may be wrong</h3><dl class="terms">{paragraphs}</dl>'


def _session(session: facts.Session) -> str:
    """Changed values stay in sight; the others fold away."""
    changed = session.changed
    keys = sorted(session.before.keys() | session.after.keys())
    same = [key for key in keys if key not in set(changed)]
    parts = [f"<h4>{escape(session.title)}</h4>"]
    if not session.after:
        parts.append("<p>The state afterwards was not recorded: the session was cut off.</p>")
    elif not changed:
        parts.append("<p>Nothing differs between before and after.</p>")
    else:
        parts.append(_before_after(changed, session))
    if same:
        parts.append(
            f"<details><summary>{len(same)} values "
            f"{'that did not change' if session.after else 'before'}</summary>"
            f"{_before_after(same, session)}</details>"
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


def _table(pairs: Iterable[tuple[str, str]]) -> str:
    lines = "".join(
        f'<tr><th scope="row">{escape(key)}</th><td>{escape(value)}</td></tr>'
        for key, value in pairs
    )
    return f'<table class="plain"><tbody>{lines}</tbody></table>' if lines else _missing()


def _folded(pairs: Iterable[tuple[str, str]]) -> str:
    """A table, folded away when it is long."""
    pairs = tuple(pairs)
    if len(pairs) <= _SHORT_TABLE:
        return _table(pairs)
    return f"<details><summary>{len(pairs)} values</summary>{_table(pairs)}</details>"


def _none() -> str:
    return "<p>None.</p>"


def _missing() -> str:
    return f"<p>{escape(facts.UNKNOWN.capitalize())}.</p>"


def _pairs(pairs: Iterable[tuple[str, str]], kind: str = "") -> str:
    """Definition list entries; wrapped in a list of class ``kind`` when one is given."""
    items = "".join(
        f"<div><dt>{escape(term)}</dt><dd>{escape(text)}</dd></div>" for term, text in pairs
    )
    return f'<dl class="{kind}">{items}</dl>' if kind else items


def _lines(answer: CoreAnswer) -> str:
    texts = (answer.slowdown, answer.misses, answer.open_points)
    return "".join(f'<span class="words">{_together(text)}</span>' for text in texts if text)


def _together(text: str) -> str:
    """Escaped, with "ρ = 1" and "1 %" kept on one line."""
    return escape(text).replace(" = ", "&nbsp;=&nbsp;").replace(" %", "&nbsp;%")


def _list(items: Iterable[str], kind: str) -> str:
    lines = "".join(f"<li>{item}</li>" for item in items)
    return f'<ul class="{kind}">{lines}</ul>' if lines else ""
