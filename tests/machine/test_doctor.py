"""The doctor as a whole: what is told, what fails, and what JSON and page hold."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from html import unescape
from pathlib import Path

import pytest
from helpers.answers import answer_of
from helpers.checks import Thread, config, window
from helpers.terminal import Terminal

from deadbeat.base.report import html
from deadbeat.base.report.terminal import print_screen
from deadbeat.cli.main import main
from deadbeat.machine.settings import doctor_summary as words
from deadbeat.machine.settings.check import all_checks
from deadbeat.machine.settings.doctor import DoctorReport, examine, families, of_families
from deadbeat.machine.settings.doctor_page import doctor_document, write_doctor
from deadbeat.machine.settings.readiness import SEVERITIES
from deadbeat.machine.targets.fake import FakeTarget

FILES = {
    "/sys/devices/system/cpu/online": "0-1\n",
    "/proc/sys/kernel/hostname": "<b>board</b>\n",
    "/proc/sys/kernel/osrelease": "6.12.1\n",
    "/proc/sys/kernel/timer_migration": "1\n",
}
OUTPUTS = {**window(Thread(tid=9, name="<script>x</script>")), **config("PREEMPT=y")}

#: Others need a process.
OF_THE_MACHINE = [check for check in all_checks() if not check.id.startswith("process.")]


def diagnose(only: tuple[str, ...] = ()) -> DoctorReport:
    target = FakeTarget(files=FILES, outputs=OUTPUTS)
    return examine(target, checks=of_families(only) if only else None)


def test_of_a_machine_that_shows_nothing_nothing_is_known() -> None:
    found = examine(FakeTarget())
    assert {result.id for result in found.results if result.status != "unknown"} == set()


def test_only_some_families_read_only_their_own() -> None:
    found = diagnose(("kernel",))
    assert {result.id.partition(".")[0] for result in found.results} == {"kernel"}
    assert found.inventory == () and found.hardening == ()


def test_the_gravest_failure_comes_first() -> None:
    groups = words.groups(diagnose().results)
    assert {group.name for group in groups} == {*families()} - {"process"}
    assert groups[0].name == "kernel"
    for group in groups:
        order = [(("fail", "unknown", "pass").index(r.status), SEVERITIES.index(r.severity))
                 for r in group.results]  # fmt: skip
        assert order == sorted(order)


def test_the_sentence_counts_what_is_grave_and_what_is_unknown() -> None:
    found = diagnose()
    told = words.sentence(found)
    assert told.startswith("Not ready for real-time work: 1 fatal")
    assert "could not be read" in told
    nothing = DoctorReport(results=(), facts=found.facts, target=found.target)
    assert words.sentence(nothing) == "Ready: nothing fatal or high fails."
    some = DoctorReport(results=(), facts=found.facts, target=found.target, partial=True)
    assert "the others were not asked" in words.sentence(some)
    assert "In these families nothing" in words.sentence(diagnose(("hardening",)))


def test_what_fails_leads_to_the_knobs_that_cure_it() -> None:
    found = diagnose()
    migration = next(r for r in found.results if r.id == "scheduler.timer-migration")
    assert words.cure(migration).endswith("(knob timer-migration)")
    tuning = words.tuning(found)
    assert tuning is not None and tuning[0] == "deadbeat tune apply realtime"
    assert tuning[1].startswith("cures ")
    asked = words.tuning(examine(FakeTarget(files=FILES, outputs=OUTPUTS), rt_cpus=[1]))
    assert asked is not None and asked[0].endswith(" --rt-cpus 1")
    assert words.tuning(examine(FakeTarget())) is None


def test_the_page_leads_to_the_profile_in_the_words_of_the_text() -> None:
    found = diagnose()
    tuning = words.tuning(found)
    (hint,) = re.findall(r'<p class="tuning">(.*?)</p>', html.page(doctor_document(found)))
    assert unescape(re.sub(r"<[^>]*>", "", hint)) == f"{' '.join(tuning)}."
    assert f"<code>{tuning[0]}</code>" in hint
    assert 'class="tuning"' not in html.page(doctor_document(examine(FakeTarget())))


def test_the_page_is_whole_escaped_and_opens_no_connection(tmp_path: Path) -> None:
    found = diagnose()
    path = write_doctor(found, tmp_path / "deep" / "page.html")
    page = path.read_text(encoding="utf-8")
    assert page == html.page(doctor_document(found))
    assert "&lt;b&gt;board&lt;/b&gt;" in page and "<b>board" not in page
    assert "<script>x" not in page and "&lt;script&gt;x&lt;/script&gt;" in page
    assert "SIMULATED" in page
    assert not re.findall(r'(?:src|href)="(?!#)', page)
    assert "default-src 'none'" in page
    for check in OF_THE_MACHINE:
        assert f'<span class="id">{check.id}</span>' in page


NOBODY = """
import json, os
from deadbeat.machine.settings.doctor import examine
from deadbeat.machine.settings import doctor_summary
from deadbeat.machine.targets.fake import FakeTarget
from deadbeat.machine.targets.local import LocalTarget
# Everything is imported while the interpreter's files can still be read.
doctor_summary.as_json(examine(FakeTarget()))
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
with LocalTarget() as target:
    print(json.dumps(doctor_summary.as_json(examine(target))))
"""


def test_an_ordinary_user_is_told_what_he_cannot_see(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NOBODY], capture_output=True, text=True, check=True, cwd="/",
        env={"PATH": os.environ["PATH"], "TMPDIR": tempfile.gettempdir()},
    )  # fmt: skip
    plain = json.loads(done.stdout)
    assert len(plain["checks"]) == len(OF_THE_MACHINE)
    for check in plain["checks"]:
        assert check["reason"], check["id"]
        assert len(check["reason"]) < 400 and "\n" not in check["reason"], check["id"]
    assert {c["id"]: c["status"] for c in plain["checks"]}["scheduler.hrtick-deadline"] != "fail"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["doctor", *words])
    out, err = capsys.readouterr()
    return status, out, err


def test_the_command_prints_lines_or_json(capsys) -> None:
    status, out, _ = run(capsys, "--only", "kernel", "--only", "scheduler", "--json")
    plain = answer_of(out)
    assert status == 0
    assert {c["id"].partition(".")[0] for c in plain["checks"]} == {"kernel", "scheduler"}
    status, out, _ = run(capsys, "--only", "scheduler", "--all", "--rt-cpus", "0")
    assert status == 0
    assert "real-time CPUs:  0\n" in out
    assert re.search(r"^result: +\d+ checks: \d+ fail", out, re.MULTILINE)
    assert "scheduler.timer-migration" in out and "\x1b" not in out


def test_fail_on_sets_the_exit_status(capsys, tmp_path: Path) -> None:
    page = tmp_path / "doctor.html"
    grave = run(capsys, "--only", "kernel", "--fail-on", "info", "--out", str(page))
    plain = answer_of(run(capsys, "--only", "kernel", "--json")[1])
    failing = [check for check in plain["checks"] if check["status"] == "fail"]
    assert grave[0] == (1 if failing else 0)
    assert ("--fail-on info" in grave[2]) == bool(grave[0])
    assert f"page: {page}" in grave[1] and page.is_file()


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 60)])
def test_the_first_screen_is_the_answer(columns: int, rows: int, monkeypatch) -> None:
    found = diagnose()
    terminal = Terminal()
    with monkeypatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        patch.setenv("TERM", "xterm")
        patch.setattr(sys, "stdout", terminal)
        print_screen(doctor_document(found), Path("doctor.html"))
    shown = terminal.screen(columns, rows)
    assert shown[1].startswith("Not ready for real-time work: 1 fatal")
    told = " ".join(" ".join(shown).split())
    failing = words.failing(found)
    listed = [result for result in failing if result.id in told]
    assert listed == failing[: len(listed)] and 5 <= len(listed) <= 10
    assert f"{len(failing) - len(listed)} more: deadbeat doctor --all" in told
    assert 1 <= told.count("next: ") <= 3 and "next: deadbeat tune apply realtime" in told
    assert "page: doctor.html" in told and "…" not in told


def test_a_machine_without_a_failure_is_told_to_measure(capsys) -> None:
    print_screen(doctor_document(examine(FakeTarget())), None)
    out = capsys.readouterr().out
    assert "next: deadbeat latency --quick" in out and "severity" not in out


def test_the_command_ends_with_the_screen_and_lists_more_on_request(capsys) -> None:
    short, family, every = (
        run(capsys, *more)[1] for more in ((), ("--only", "kernel"), ("--all",))
    )
    assert len(short.splitlines()) < 24 and "do:" not in short
    assert "How the kernel was built (kernel)" in family and "Inventory" not in family
    assert "Inventory" in every and every.count("next: ") == short.count("next: ")


def test_it_says_which_compiler_is_missing(tmp_path: Path) -> None:
    tools = ("python3", "sh", "cat", "ls", "getconf", "uname")
    for found in filter(None, map(shutil.which, tools)):
        (tmp_path / Path(found).name).symlink_to(found)
    bare = {**os.environ, "PATH": str(tmp_path)}
    typed = [sys.executable, "-m", "deadbeat", "doctor", "--only", "kernel"]
    said = subprocess.run(typed, env=bare, capture_output=True, text=True, check=True).stdout
    assert "next: install one (Debian: apt-get install gcc libc6-dev)" in said
    here = subprocess.run(typed, capture_output=True, text=True, check=True).stdout
    assert "no C compiler" not in here
