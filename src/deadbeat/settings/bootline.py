"""The kernel's command line with further words: written out for a person, never applied."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from deadbeat.host.kernel import command_words

#: Words that the boot loader adds by itself.
_LOADERS = ("BOOT_IMAGE", "initrd")


@frozen
class BootLine:
    """What is to be added to the command line, and what comes of it.

    Attributes:
        add: Words that are not there yet.
        replaced: Words that are there now and go, because one of ``add`` says something else.
        already: Words that are asked for and there.
        whole: The whole line afterwards, without what the boot loader adds by itself; None: the
            present one is not known.
    """

    add: tuple[str, ...]
    replaced: tuple[str, ...]
    already: tuple[str, ...]
    whole: str | None


def merged(present: str | None, words: Sequence[str]) -> BootLine:
    """The command line ``present`` (None: it could not be read) with ``words``.

    Of a name that ``words`` have, only that word stays; dashes and underscores of names are alike,
    as to the kernel. What follows ``--`` is for the first process and stays at the end.
    """
    kernel, dashes, rest = _split(present or "")
    wanted = list(dict.fromkeys(words))
    names = {_name(word) for word in wanted}
    kept = [word for word in kernel if word in wanted or _name(word) not in names]
    add = [word for word in wanted if word not in kernel]
    return BootLine(
        add=tuple(add),
        replaced=tuple(word for word in kernel if word not in kept),
        already=tuple(word for word in wanted if word in kernel),
        whole=None if present is None else " ".join([*kept, *add, *dashes, *rest]),
    )


def _split(present: str) -> tuple[list[str], list[str], list[str]]:
    words = command_words(present)
    end = words.index("--") if "--" in words else len(words)
    kernel = [word for word in words[:end] if _name(word) not in _LOADERS]
    return kernel, words[end : end + 1], words[end + 1 :]


def _name(word: str) -> str:
    return word.partition("=")[0].replace("-", "_")
