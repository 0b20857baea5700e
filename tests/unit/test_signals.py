"""A signal ends a command wherever it strikes, and its status says which it was."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from deadbeat.cli.main import main

#: Python lets no exception out of a callback of a weak reference.
IN_A_CALLBACK = """
class Some: pass
def strike(_):
    os.kill(os.getpid(), number)
    for _ in range(1000): pass
some = Some()
reference = weakref.ref(some, strike)
del some
for _ in range(200): time.sleep(0.01)
"""
#: Python ends itself by SIGINT where an ordinary KeyboardInterrupt passed through a text's code.
IN_A_TEXT = 'exec("os.kill(os.getpid(), number)\\nfor _ in range(1000): pass")'


def test_one_that_strikes_while_a_class_is_made_interrupts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def strike(words: list[str], *, quiet: bool) -> int:
        class Named:
            def __set_name__(self, owner: type, name: str) -> None:
                signal.raise_signal(signal.SIGTERM)

        type("Owner", (), {"named": Named()})
        return 0

    monkeypatch.setattr("deadbeat.cli.main._run", strike)
    assert main(["version"]) == 128 + signal.SIGTERM
    assert capsys.readouterr().err == "deadbeat: interrupted\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("where", [IN_A_CALLBACK, IN_A_TEXT], ids=["callback", "text"])
def test_a_signal_is_not_lost(where: str, number: signal.Signals) -> None:
    lines = [
        "import os, sys, time, weakref",
        "from deadbeat.cli._signals import INTERRUPTED, interruptible",
        f"number = {int(number)}",
        "with interruptible() as caught:",
        "    try:",
        *(f"        {line}" for line in where.strip().splitlines()),
        "        status = 0",
        "    except KeyboardInterrupt:",
        "        status = caught.status(INTERRUPTED)",
        "sys.exit(status)",
    ]
    words = [sys.executable, "-c", "\n".join(lines)]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (128 + number, "")
