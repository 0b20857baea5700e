"""The result of the runtime's verb ``rounds`` (runtime/src/rounds.c), read."""

from __future__ import annotations

from deadbeat.kinds.interference.engine import Seen
from deadbeat.model.errors import DataError
from deadbeat.model.load import Gaps, Rounds

_HINT = "the run is done again when the command is repeated"


def parse(text: str) -> Seen:
    """What a run showed. DataError where the text is not whole."""
    rows: dict[str, list[list[str]]] = {}
    for line in text.splitlines():
        word, *rest = line.split()
        rows.setdefault(word, []).append(rest)
    try:
        return _seen(rows)
    except (KeyError, IndexError, ValueError) as error:
        raise DataError(f"the result of a run is damaged: {error!r}", _HINT) from error


def _seen(rows: dict[str, list[list[str]]]) -> Seen:
    if rows["rounds"] != [["1"]]:
        raise ValueError(f"format {rows['rounds']}")
    (end,) = rows["end"]
    table = [list(map(int, row)) for row in rows.get("round", [])]
    if int(end[0]) != len(table):
        raise ValueError(f"{len(table)} of {end[0]} rounds")
    placed = rows.get("placed", [None])[0]
    return Seen(
        window_ns=_pair(rows["window"][0]),
        sampled_ns=_pair(rows["sampled"][0]),
        rounds=Rounds.of_rows(table),
        gaps=Gaps.of_rows([list(map(int, row)) for row in rows.get("gap", [])]),
        gaps_lost=int(rows["lost"][0][0]),
        normal_units=tuple(int(row[1]) for row in rows.get("normal", [])),
        policy=placed[0] if placed else "",
        priority=int(placed[1]) if placed else None,
        cpu=int(placed[2]) if placed else None,
        unit_ps=int(rows["unit"][0][0]) if placed else None,
    )


def _pair(words: list[str]) -> tuple[int, int]:
    first, last = map(int, words)
    return first, last
