"""Transparent huge pages and their daemon."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import Knob, Setting, one_of, present

_FOLDER = "/sys/kernel/mm/transparent_hugepage"
_ENABLED, _DEFRAG = f"{_FOLDER}/enabled", f"{_FOLDER}/defrag"
_DAEMON = f"{_FOLDER}/khugepaged/defrag"


def _settings(facts: Facts, value: str) -> list[Setting]:
    (enabled,) = present(facts, _ENABLED)
    made = [Setting(enabled, value, "selected")]
    if facts.get(_DEFRAG) is not None:
        made.append(Setting(_DEFRAG, value, "selected"))
    if facts.get(_DAEMON) is not None:
        made.append(Setting(_DAEMON, "0"))
    return made


KNOB = Knob(
    name="huge-pages",
    title="transparent huge pages, and memory moved about to make some",
    why="a page fault may have to gather 2 MB, and a daemon locks the memory of tasks to merge"
    " pages",
    source=sources.TUNED_REALTIME,
    cures=("memory.huge-pages", "memory.huge-page-defrag", "memory.khugepaged"),
    reads=(_ENABLED, _DEFRAG, _DAEMON),
    values=one_of("never", "madvise"),
    default="never",
    settings=_settings,
    note="a compute task that lives on huge pages gets slower: madvise keeps them for who asks",
)
