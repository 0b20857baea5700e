"""Folders of one name: ``NAME``, ``NAME-2``, ``NAME-3``, ...; none is ever removed or renamed."""

from __future__ import annotations

import re
from pathlib import Path

from deadbeat.model.errors import DataError
from deadbeat.store.files import PART_SUFFIX
from deadbeat.store.origin import ORIGIN_FILE


def entries(runs: Path) -> list[Path]:
    """Folders under ``runs``, links not followed; none where ``runs`` does not exist yet."""
    try:
        return [path for path in runs.iterdir() if path.is_dir() and not path.is_symlink()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise DataError(f"cannot read {runs}: {error.strerror}", "choose another --runs") from None


def family(runs: Path, name: str) -> dict[int, Path]:
    """Number -> folder of everything that bears the name; an unused folder is nothing."""
    pattern = re.compile(re.escape(name) + r"(?:-([1-9][0-9]{0,8}))?")
    found: dict[int, Path] = {}
    for path in entries(runs):
        match = pattern.fullmatch(path.name)
        if match and (match[1] is None or int(match[1]) > 1) and not _unused(path):
            found[int(match[1] or 1)] = path
    return found


def _unused(path: Path) -> bool:
    """Whether a campaign may begin in ``path``: only leftovers of one killed at birth."""
    return not any(
        entry.is_file()
        and not entry.name.startswith(".")
        and entry.suffix != PART_SUFFIX
        and entry.name != ORIGIN_FILE
        for entry in path.rglob("*")
    )


def numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"
