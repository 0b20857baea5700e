"""Campaign files: TOML that a person wrote."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from deadbeat.model.errors import UsageError

_FILE_LIMIT = 1 << 20


def read_toml(
    path: Path, *, option: str = "--campaign", hint: str = "see examples/"
) -> dict[str, Any]:
    """The layer a TOML file holds that ``option`` names; ``hint``: where one is shown.

    Raises:
        UsageError: It cannot be read as TOML.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(_FILE_LIMIT + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", f"{option} takes a TOML file") from None
    if len(data) > _FILE_LIMIT:
        raise UsageError(f"{path}: larger than {_FILE_LIMIT} bytes", f"{option} takes a short one")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        text = f"{path}: not TOML: {error}".replace("\n", " ")
        raise UsageError(text, hint) from None
