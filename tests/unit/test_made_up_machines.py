"""Truth: issue 27: whatever a file of a machine holds, every check answers; none passes on nothing.

Every machine on which a check passes, with each of its files, and all of them, made odd.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from attrs import evolve
from helpers.checks import Case, outcome
from test_checks_all import CASES

ODD = {
    "empty": "",
    "blank": " \n\n",
    "garbage": "\x00\xff garbage 1e9 : = , - 9999999999999999999999 %n\n" * 3,
    "zero": "0\n",
    "negative": "-1\n",
    "huge": "0-9999999\n",
    "word": "y\n",
    "colons": ":::\n,,,\n",
    "lists": "0-3:1/0\n",
}
#: Nothing on the command line, and no such file of the kernel, say that it is not there.
_ABSENT = {
    *("cmdline.idle-poll", "cmdline.rcu-patience", "cmdline.serial-console", "cmdline.watchdogs"),
    *("hardening.page-poisoning", "virtualisation.quota"),
}


def whole(id: str) -> Case:
    return next(given for status, given in CASES[id].items() if status.startswith("pass"))


def machines(given: Case, text: str) -> Iterator[tuple[str, Case]]:
    for name in (*given.files, *given.outputs):
        files = {key: text if key == name else held for key, held in given.files.items()}
        outputs = {key: text if key == name else held for key, held in given.outputs.items()}
        yield name, evolve(given, files=files, outputs=outputs)


@pytest.mark.parametrize("id", CASES)
def test_an_odd_file_is_answered(id: str) -> None:
    for kind, text in ODD.items():
        for name, machine in machines(whole(id), text):
            result = outcome(id, machine)
            assert result.status in ("pass", "fail", "unknown"), (kind, name)
            assert "\n" not in result.reason + result.found, (kind, name)


@pytest.mark.parametrize("id", sorted({*CASES} - _ABSENT))
def test_no_check_passes_where_all_is_empty(id: str) -> None:
    given = whole(id)
    nothing = evolve(
        given, files=dict.fromkeys(given.files, ""), outputs=dict.fromkeys(given.outputs, "")
    )
    assert outcome(id, nothing).status != "pass"


@pytest.mark.parametrize("id", CASES)
def test_no_check_passes_on_no_cpu(id: str) -> None:
    files = {key: held for key, held in whole(id).files.items() if not key.startswith("/sys")}
    result = outcome(id, evolve(whole(id), files=files, rt_cpus=None))
    assert "CPU none" not in result.found + result.reason, result
