"""The scripted target against the words of the protocol in deadbeat.machine.targets.base."""

import pytest

from deadbeat.base.model.errors import TargetError
from deadbeat.machine.targets import Completed, Conversation, FakeTarget, Process, Target


def runner(returncode: int = 0) -> Conversation:
    def answer(line: str) -> list[str]:
        if line == "quit":
            raise EOFError
        return [f"done {line}"]

    return Conversation(
        greeting=("ready",), answer=answer, returncode=returncode, stderr="a warning\n"
    )


def test_it_satisfies_the_protocols():
    fake = FakeTarget(conversations={"runner": runner()})
    seam: Target = fake
    process: Process = fake.start(["runner"])
    assert (seam.name, seam.kind, process.stderr()) == ("fake", "simulated", "a warning\n")


def test_commands_are_fixed_or_functions_of_their_arguments_and_are_recorded():
    fixed = Completed(argv=("a",), returncode=1, stdout="x", stderr="")
    fake = FakeTarget(
        commands={
            "a": fixed,
            "b": lambda argv: Completed(argv=argv, returncode=0, stdout=argv[1], stderr=""),
        }
    )
    assert fake.run(["a"]) is fixed
    assert fake.run(["b", "hello"]).stdout == "hello"
    assert fake.calls == [("a",), ("b", "hello")]


@pytest.mark.parametrize("how", ["run", "start"])
def test_what_is_not_scripted_is_missing(how):
    with pytest.raises(TargetError, match="no program b"):
        getattr(FakeTarget(), how)(["b"])


def test_a_conversation():
    process = FakeTarget(conversations={"runner": runner(returncode=4)}).start(["runner"])
    assert process.read_line(timeout=1) == "ready"
    process.write_line("1")
    process.write_line("2")
    assert process.read_line() == "done 1"
    done = process.close()
    assert (done.returncode, done.stdout, done.stderr) == (4, "done 2\n", "a warning\n")
    assert process.received == ["1", "2"]
    assert process.read_line() is None
    with pytest.raises(TargetError, match="no longer listens"):
        process.write_line("3")


def test_silence_and_death():
    process = FakeTarget(conversations={"runner": runner()}).start(["runner"])
    process.read_line()
    with pytest.raises(TargetError, match="did not answer"):
        process.read_line(timeout=1)
    process.write_line("quit")
    assert process.read_line(timeout=1) is None


def test_closing_the_target_kills_what_runs():
    with FakeTarget(conversations={"runner": runner()}) as fake, fake.start(["runner"]) as first:
        fake.start(["runner"])
        assert first.running
    assert fake.closed
    assert [process.running for process in fake.processes] == [False, False]
    assert first.close().returncode == -9


def test_files(tmp_path):
    fake = FakeTarget(files={"/proc/version": "Linux", "/blob": b"\xff"})
    assert fake.read_text("/proc/version") == "Linux"
    assert fake.read_text("/blob") == "\N{REPLACEMENT CHARACTER}"
    assert fake.read_text("/missing") is None
    (tmp_path / "in").write_bytes(b"data")
    fake.put(tmp_path / "in", "/fake/x")
    fake.get("/fake/x", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b"data"
    with pytest.raises(TargetError, match="cannot be copied"):
        fake.get("/missing", tmp_path / "none")
    with pytest.raises(TargetError, match="cannot be copied"):
        fake.put(tmp_path / "none", "/fake/y")
