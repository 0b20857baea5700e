"""Questions that the lab answers with one word: which kernels, with which words, beside what.

Every row can be typed as options of ``deadbeat lab run``, too. The first variant is the baseline.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen


@frozen
class Variant:
    """One kernel with one command line.

    Attributes:
        name: Name of its result. ``kernel``: its name in ``deadbeat list kernels``.
        words: For its command line.
        services: Words for the runtime's ``load``: processes beside what measures; "" for none.
    """

    name: str
    kernel: str
    words: str = ""
    services: str = ""


@frozen(kw_only=True)
class LabPreset:
    """A question.

    Attributes:
        title: It, in a line.
        variants: What is compared, the baseline first.
        also: Another baseline, and what is compared with it too, by their names.
        ranked: Its variants are single changes of the baseline, shown in the order of their effect.
    """

    title: str
    variants: tuple[Variant, ...]
    also: tuple[str, ...] = ()
    ranked: bool = False

    @property
    def kernels(self) -> tuple[str, ...]:
        """What must be fetched."""
        return tuple(dict.fromkeys(each.kernel for each in self.variants))


def _read() -> Iterator[tuple[str, LabPreset]]:
    """The rows of ``presets.toml``; a variant has the words of its question before its own, or
    ``only`` its own."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    for name, row in tomllib.loads(text).items():
        kernel, words, variants = row.pop("kernel"), row.pop("words", ""), row.pop("variants")
        made = tuple(
            Variant(
                each,
                own.get("kernel", kernel),
                own.get("only", f"{words} {own.get('words', '')}".strip()),
                own.get("services", ""),
            )
            for each, own in variants.items()
        )
        yield name, LabPreset(**{**row, "also": tuple(row.get("also", ()))}, variants=made)


PRESETS = dict(_read())
