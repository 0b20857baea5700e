"""What a real shell reads, and that the made-up target gives the same."""

from __future__ import annotations

import gzip
from pathlib import Path

from deadbeat.targets.fake import FakeTarget
from deadbeat.targets.local import LocalTarget
from deadbeat.targets.readings import ALONE, MEANWHILE, Reading


def test_files_patterns_and_commands_are_read_at_once(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("one\ntwo\n")
    (tmp_path / "empty").write_text("")
    (tmp_path / "packed.gz").write_bytes(gzip.compress(b"CONFIG_A=y\n"))
    for cpu in range(3):
        (tmp_path / f"cpu{cpu}").write_text(f"{cpu}")
    paths = [str(tmp_path / name) for name in ("plain", "empty", "packed.gz", "none", "cpu*", "x?")]
    commands = {
        "hello": "echo 'a = b'; echo talk >&2",
        "bad": "echo why >&2; exit 3",
        "no": "nnn-n",
    }
    with LocalTarget() as target:
        found = target.read_many(paths, commands)
        left = list(Path(target.folder).iterdir())
    assert found.files[paths[0]] == Reading("one\ntwo\n")
    assert found.files[paths[1]] == Reading("")
    assert found.files[paths[2]] == Reading("CONFIG_A=y\n")
    assert found.files[paths[3]] == Reading(None, "no such file")
    assert found.patterns[paths[4]] == tuple(str(tmp_path / f"cpu{cpu}") for cpu in range(3))
    assert [found.files[path].text for path in found.patterns[paths[4]]] == ["0\n", "1\n", "2\n"]
    assert found.patterns[paths[5]] == ()
    assert found.commands["hello"] == Reading("a = b\n")
    assert found.commands["bad"] == Reading(None, "failed: why")
    assert found.commands["no"] == Reading(None, "no such program")
    assert left == []


def test_a_made_up_target_tells_missing_from_refused() -> None:
    target = FakeTarget(
        files={"/a/1": "x", "/a/2": "y"}, refused={"/a/3": "denied: no"}, outputs={"dmesg": "hm"}
    )
    found = target.read_many(["/a/*", "/b"], {"dmesg": "dmesg", "other": "other"})
    assert found.patterns["/a/*"] == ("/a/1", "/a/2", "/a/3")
    assert found.files["/a/3"] == Reading(None, "denied: no")
    assert found.files["/b"] == Reading(None, "no such file")
    assert found.commands == {"dmesg": Reading("hm"), "other": Reading(None, "no such program")}


def test_the_first_line_says_why_a_command_failed() -> None:
    with LocalTarget() as target:
        found = target.read_many([], {"bad": "for k in 1 2 3; do echo no $k >&2; done; exit 1"})
        silent = target.read_many([], {"bad": "exit 1"})
    assert found.commands["bad"] == Reading(None, "failed: no 1 (and 2 more lines)")
    assert silent.commands["bad"] == Reading(None, "failed:")


def test_one_command_has_the_machine_to_itself_and_one_runs_beside_the_rest(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    wait = f"n=0; until [ -e {mark} ] || [ $n = 500 ]; do sleep 0.01; n=$((n + 1)); done"
    commands = {
        "marks": f"touch {mark}",
        "beside": f"{MEANWHILE}{wait}; [ -e {mark} ] && echo met",
        "fails": f"{MEANWHILE}echo no >&2; exit 1",
        "first": f"{ALONE}[ -e {mark} ] || echo nobody before",
    }
    with LocalTarget() as target:
        found = target.read_many([str(tmp_path)], commands)
        left = list(Path(target.folder).iterdir())
    assert found.commands["first"] == Reading("nobody before\n")
    assert found.commands["beside"] == Reading("met\n")
    assert found.commands["fails"] == Reading(None, "failed: no")
    assert list(found.commands) == list(commands)
    assert left == []
