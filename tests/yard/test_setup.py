"""tools/setup on machines made of stub commands: what it installs, when, and what it says.

The stubs stand on PATH in place of apt-get, gcc, python3 and their like, and write down how they
were called; nothing is installed and nothing is fetched.
"""

import re
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REAL = ("cat", "chmod", "cp", "cut", "dirname", "env", "find", "grep", "mkdir", "mktemp", "rm",
        "sed", "sh", "sha256sum", "sort", "true")  # fmt: skip

PYTHON = """
if [ "$1" = -m ] && [ "$2" = venv ]; then
    mkdir -p .venv/bin
    cp "$STUBS/venv-python" .venv/bin/python
fi
"""

#: What tests of other machines need, and of JVMs.
ELSEWHERE = (
    "sshd", "busybox", "qemu-system-riscv64", "qemu-arm-static", "musl-gcc",
    "aarch64-linux-gnu-gcc", "arm-linux-gnueabihf-gcc", "riscv64-linux-gnu-gcc",
    "javac", "mvn",
)  # fmt: skip


class Machine:
    """A clone and a PATH of stubs."""

    def __init__(self, folder: Path) -> None:
        self.clone = folder / "clone"
        self.stubs = folder / "stubs"
        self.log = folder / "log"
        self.stubs.mkdir()
        for part in ("tools", "runtime/src", "fragments/ns", "src/deadbeat/build",
                     "src/deadbeat/sched", "core/src"):  # fmt: skip
            (self.clone / part).mkdir(parents=True)
        locks = ("requirements.lock", "requirements-dev.lock", "requirements-bench.lock")
        for name in ("tools/setup", "pyproject.toml", "CMakeLists.txt", *locks):
            shutil.copy(ROOT / name, self.clone / name)
        (self.clone / "runtime/src/core.c").write_text("int x;\n")
        (self.clone / "core/src/engine.cpp").write_text("int x;\n")
        for name in REAL:
            real = shutil.which(name)
            assert real, name
            (self.stubs / name).symlink_to(real)
        self.add("python3", PYTHON)
        self.add("venv-python")
        self.add("id", "echo 0")
        programs = ("gcc", "g++", "make", "apt-get", "chromium", "chromedriver")
        for name in (*programs, *ELSEWHERE, "cyclictest", "stress-ng", "cargo"):
            self.add(name)

    def add(self, name: str, body: str = "") -> None:
        stub = self.stubs / name
        # Only what matters is written down: `python -c` probes would drown it.
        note = '[ "$1" = -c ] || echo "$(basename "$0") $*" >>"$LOG"'.replace(
            '$(basename "$0")', "${0##*/}"
        )
        stub.write_text(f"#!/bin/sh\n{note}\n{body}\n")
        stub.chmod(0o755)

    def remove(self, *names: str) -> None:
        for name in names:
            (self.stubs / name).unlink()

    def setup(self, kind: str = "run") -> tuple[int, str, list[str]]:
        """Exit status, what it said, and the calls of stubs that change something."""
        self.log.write_text("")
        done = subprocess.run(
            [str(self.clone / "tools/setup"), kind],
            env={"PATH": str(self.stubs), "STUBS": str(self.stubs), "LOG": str(self.log)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        calls = [
            line
            for line in self.log.read_text().splitlines()
            if line.startswith(("apt-get", "python ", "python3 -m", "sudo -n env"))
            and "pip --version" not in line
        ]
        return done.returncode, done.stderr, calls


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


PIP = (
    "python -m pip install --quiet --disable-pip-version-check --no-input --no-compile"
    " --no-build-isolation"
)
#: Packages whose lines of the lock are on standard input.
LOCKED = f"{PIP} --require-hashes -r /dev/stdin"
EXTENSION = ("nanobind", "cmake", "ninja")


def install() -> list[str]:
    """What the lock pins, then the package without its core."""
    return [LOCKED, f"{PIP} --no-deps -C wheel.cmake=false -e ."]


def core(options: str = "") -> list[str]:
    """What builds the core, then the core."""
    return [LOCKED, f"{PIP} --no-deps {options}-e ."]


#: Of those who change it: every lane, and no warning.
STRICT = "".join(
    f"-C cmake.define.{name}=ON "
    for name in ("DEADBEAT_ALL_LANES", "CMAKE_COMPILE_WARNING_AS_ERROR")
)
VENV, NATIVE = ["python3 -m venv --clear .venv"], ["python -m deadbeat.build"]
FIRST_RUN = [*VENV, *install(), *core(), *NATIVE]


def test_a_fresh_clone_gets_everything_once(machine):
    assert machine.setup()[::2] == (0, FIRST_RUN)
    assert machine.setup() == (0, "", [])


def test_what_is_installed_has_a_hash_each_package_once(machine):
    """Standard input of pip: all lines of the lock, those of the core's tools when it is built."""
    machine.add(
        "venv-python",
        'case "$*" in *stdin*) cat >>"$STUBS/pinned"; echo end >>"$STUBS/pinned" ;; esac',
    )
    assert machine.setup()[0] == 0
    every, tools, _ = (machine.stubs / "pinned").read_text().split("end\n")
    lock = (machine.clone / "requirements.lock").read_text()
    assert sorted((every + tools).splitlines()) == sorted(lock.splitlines())
    packages = re.split(r"^(?=[\w.-]+==)", every + tools, flags=re.M)[1:]
    assert all("--hash=sha256:" in each for each in packages)
    named = {line.partition("==")[0] for line in tools.splitlines() if "==" in line}
    assert named == set(EXTENSION)


def test_the_command_blocks_ctrl_c_until_it_can_answer(machine):
    machine.setup()
    command = machine.clone / ".venv/bin/deadbeat"
    command.write_text("#!/somewhere/python\nimport sys\n")
    (machine.clone / "core/src/engine.cpp").write_text("int y;\n")
    machine.setup()
    text = "#!/usr/bin/env -S --block-signal=INT /somewhere/python\nimport sys\n"
    assert command.read_text() == text


def test_measuring_is_set_up_without_the_core_which_is_built_when_it_is_needed(machine):
    assert machine.setup("measure")[::2] == (0, [*VENV, *install(), *NATIVE])
    assert machine.setup("measure") == (0, "", [])
    status, said, calls = machine.setup("core")
    assert (status, calls) == (0, core())
    once = "once (a minute on two idle cores, two on busy ones)"
    assert said == f"setup: building the scheduling core, {once}\n"
    assert [machine.setup(kind) for kind in ("core", "run", "measure")] == [(0, "", [])] * 3


@pytest.mark.parametrize("fits", [True, False])
def test_the_core_is_that_of_a_wheel_of_these_sources_that_fits(machine, fits):
    machine.setup("measure")
    held = machine.clone / "build/wheel/deadbeat_sched/deadbeat/sched"
    makes = f"mkdir -p {held} && echo >{held}/_core.so" if fits else "exit 1"
    machine.add("venv-python", f'case "$*" in *--target*) {makes} ;; esac')
    shutil.copy(machine.stubs / "venv-python", machine.clone / ".venv/bin/python")
    paths = ("CMakeLists.txt", "core/src/engine.cpp")
    sums = {path: sha256((machine.clone / path).read_bytes()).hexdigest() for path in paths}
    lines = "".join(sorted(f"{digest}  {path}\n" for path, digest in sums.items()))
    (machine.clone / "wheels").mkdir()
    (machine.clone / "wheels/.core").write_text(sha256(lines.encode()).hexdigest())
    asked = (
        "python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps"
        " --no-index --find-links wheels --target build/wheel deadbeat-sched"
    )
    assert machine.setup("core")[2] == [asked, *([] if fits else core())]
    module = machine.clone / "src/deadbeat/sched/_core.so"
    assert module.exists() is fits
    (machine.clone / "core/src/engine.cpp").write_text("int y;\n")
    assert machine.setup("core")[2] == core()
    assert not module.exists()


def test_run_completes_what_measuring_left_out(machine):
    machine.setup("measure")
    assert machine.setup()[2] == core()


def test_run_needs_no_browser_and_no_tools_of_development(machine):
    machine.remove("chromium", "chromedriver", "qemu-arm-static", "apt-get")
    assert machine.setup()[::2] == (0, FIRST_RUN)


def test_dev_adds_the_tools_to_the_same_environment_and_contains_run(machine):
    machine.setup()
    assert machine.setup("dev")[2] == [
        *install(), f"{PIP} --no-deps -e packages/freertos", *core(STRICT)
    ]  # fmt: skip
    assert machine.setup("dev")[2] == []
    assert machine.setup("run")[2] == []


def test_bench_adds_its_peers_and_contains_dev(machine):
    machine.setup("dev")
    assert machine.setup("bench")[2] == [*install(), *core(STRICT)]
    assert [machine.setup(kind)[2] for kind in ("bench", "dev", "run")] == [[], [], []]


def test_a_changed_pin_installs_again_into_the_same_environment(machine):
    machine.setup()
    with (machine.clone / "requirements.lock").open("a") as lock:
        lock.write("new==1 --hash=sha256:0\n")
    assert machine.setup()[2] == [*install(), *core()]


@pytest.mark.parametrize("source", ["runtime/src/core.c", "core/src/engine.cpp"])
def test_a_changed_source_is_built_again_and_nothing_else_is(machine, source):
    machine.setup()
    (machine.clone / source).write_text("int y;\n")
    assert machine.setup()[2] == (core() if "engine" in source else ["python -m deadbeat.build"])
    assert machine.setup()[2] == []


def test_a_core_that_does_not_build_fails_the_set_up_every_time(machine):
    machine.setup()
    (machine.clone / "core/src/engine.cpp").write_text("int\n")
    (machine.clone / ".venv/bin/python").write_text(
        '#!/bin/sh\n[ "$1" = -c ] || [ "$3" != install ]\n'
    )
    for _ in range(2):
        status, said, _ = machine.setup()
        assert status == 1
        assert "the scheduling core could not be built" in said


def test_a_moved_clone_gets_a_new_environment(machine):
    machine.setup()
    moved = machine.clone.with_name("moved")
    machine.clone.rename(moved)
    machine.clone = moved
    assert machine.setup()[2] == FIRST_RUN[:-1]


def test_a_failed_step_is_done_again(machine):
    machine.add("venv-python", '[ "$3" != install ]')
    status, said, _ = machine.setup()
    assert status == 1
    assert "pip could not install the packages" in said
    machine.add("venv-python")
    shutil.copy(machine.stubs / "venv-python", machine.clone / ".venv/bin/python")
    assert machine.setup()[::2] == (0, FIRST_RUN[1:])


def test_a_failed_build_fails_the_set_up_every_time(machine):
    machine.add("venv-python", '[ "$2" != deadbeat.build ]')
    assert machine.setup()[0] == 1
    assert machine.setup()[::2] == (1, NATIVE)


INSTALL = "apt-get -qq -o DPkg::Lock::Timeout=300 install --no-install-recommends -y"


def test_root_installs_what_is_missing_without_renewing_the_lists(machine):
    machine.remove("gcc", "make")
    status, said, calls = machine.setup()
    assert status == 0
    assert calls[0] == f"{INSTALL} gcc libc6-dev make"
    assert calls[1:] == FIRST_RUN
    assert "installing system packages: gcc libc6-dev make" in said


def test_the_lists_are_renewed_when_a_package_is_not_found(machine):
    machine.remove("make")
    machine.add(
        "apt-get", 'case "$*" in *update) echo >"$STUBS/renewed" ;; esac\n[ -e "$STUBS/renewed" ]'
    )
    status, said, calls = machine.setup()
    assert status == 0
    assert [call.split()[4] for call in calls[:3]] == ["install", "update", "install"]
    assert "renewing the package lists" in said


def lacking(what: str) -> str:
    """A Python 3.11 without it."""
    return f'case "$2" in *{what}*) exit 1 ;; *print*) echo python3.11 ;; esac\n{PYTHON}'


#: What is set up where which programs are missing and which are as here -> what is installed.
LACKS: dict[str, tuple[str, list[str], dict[str, str]]] = {
    "gcc libc6-dev": ("run", [], {"gcc": "exit 1"}),  # links nothing statically
    "python3.11-venv": ("run", [], {"python3": lacking("ensurepip")}),
    "python3.11-dev": ("run", [], {"python3": lacking("Python.h")}),
    "rt-tests stress-ng": ("run", ["cyclictest", "stress-ng"], {}),
    "libck-dev": ("run", [], {"gcc": 'case "$*" in *-E*) exit 1 ;; esac'}),
    "chromium chromium-driver": ("dev", ["chromium", "chromedriver"], {}),
    "gcc-arm-linux-gnueabihf libc6-dev-armhf-cross qemu-user-static": (
        "dev", ["arm-linux-gnueabihf-gcc", "qemu-arm-static"], {},
    ),
    "cargo": ("bench", ["cargo"], {}),
}  # fmt: skip


@pytest.mark.parametrize("packages", LACKS)
def test_what_is_missing_is_installed(machine, packages):
    kind, removed, other = LACKS[packages]
    machine.remove(*removed)
    for name, body in other.items():
        machine.add(name, body)
    assert machine.setup(kind)[2][0] == f"{INSTALL} {packages}"


def test_a_python_that_is_too_old_is_said(machine):
    machine.add("python3", 'case "$2" in *version_info*) exit 1 ;; esac')
    status, said, _ = machine.setup()
    assert status == 1
    assert "Python 3.11 or newer is needed" in said


def test_sudo_is_used_where_it_needs_no_password(machine):
    machine.remove("make")
    machine.add("id", "echo 1000")
    machine.add("sudo", 'shift; exec "$@"')
    status, _, calls = machine.setup()
    assert status == 0
    assert calls[0].startswith("sudo -n env DEBIAN_FRONTEND=noninteractive apt-get")
    assert calls[1] == f"{INSTALL} make"


@pytest.mark.parametrize("sudo", [None, "exit 1"])
def test_who_may_not_install_gets_the_one_line_to_type(machine, sudo):
    machine.remove("gcc")
    machine.add("id", "echo 1000")
    if sudo:
        machine.add("sudo", sudo)
    status, said, calls = machine.setup()
    assert (status, calls) == (1, [])
    assert "sudo apt-get install --no-install-recommends -y gcc libc6-dev\n" in said


def test_a_machine_without_apt_is_told_what_is_missing(machine):
    machine.remove("gcc", "apt-get")
    status, said, _ = machine.setup()
    assert status == 1
    assert "this machine lacks: gcc libc6-dev" in said


@pytest.mark.parametrize("root", [True, False])
def test_without_it_the_rest_is_set_up(machine, root):
    machine.remove("stress-ng")
    machine.add("apt-get", "exit 1")
    if not root:
        machine.add("id", "echo 1000")
    status, said, calls = machine.setup()
    assert status == 0
    assert calls[-len(FIRST_RUN) :] == FIRST_RUN
    assert "going on without stress-ng" in said
    assert ("sudo apt-get install" in said) is not root


def test_an_unknown_kind_is_a_usage_error(machine):
    assert machine.setup("everything")[0] == 2
