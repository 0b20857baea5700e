"""Truth: only regular files of a result folder are opened: a pipe has no end, a device no size."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deadbeat.model.errors import DataError
from deadbeat.store.files import open_regular, read_bytes


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


def test_a_regular_file_and_a_link_to_one_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"content")
    (tmp_path / "b").symlink_to(path)
    with open_regular(tmp_path / "b") as stream:
        assert stream.read() == b"content"
