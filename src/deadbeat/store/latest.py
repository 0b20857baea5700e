"""``runs/latest``: the campaign that was written last."""

from __future__ import annotations

from pathlib import Path

from deadbeat.model.errors import UsageError
from deadbeat.store.files import part_path, storing, sync_folder


def point_latest(runs_root: Path, name: str) -> Path:
    """Let ``runs_root/latest`` lead to ``runs_root/name``, atomically; returns the link.

    Raises:
        UsageError: ``latest`` exists and is not a link.
        DeadbeatError: The link cannot be written.
    """
    link = runs_root / "latest"
    if link.exists() and not link.is_symlink():
        raise UsageError(
            f"{link} is not a link", "rename it: deadbeat keeps its last campaign there"
        )
    part = part_path(link)
    with storing(link):
        part.unlink(missing_ok=True)
        part.symlink_to(name)
        part.replace(link)
        sync_folder(runs_root)
    return link
