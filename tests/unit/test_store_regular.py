"""Truth: only regular files of a result folder are opened: a pipe has no end, a device no size."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deadbeat.model.errors import DataError
from deadbeat.store.files import followed, read_bytes


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "loop"])
def test_what_is_no_regular_file_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero" if kind == "device" else path)
    with pytest.raises(DataError) as caught:
        read_bytes(path, what="run", hint="delete it")
    assert str(path) in caught.value.message and caught.value.hint == "delete it"


def test_a_link_is_followed_only_where_a_person_names_it(tmp_path: Path) -> None:
    path, link = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"content")
    link.symlink_to(path)
    assert read_bytes(path, what="run", hint="") == b"content"
    assert read_bytes(followed(link), what="run", hint="") == b"content"
    with pytest.raises(DataError, match="it is a link"):
        read_bytes(link, what="run", hint="")


def test_a_file_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.touch()
    os.truncate(path, 1 << 40)
    with pytest.raises(DataError, match="longer than"):
        read_bytes(path, what="run", hint="delete it")
