"""What is installed outside the clone works there: files of the source archive, and the wheels in
environments of their own."""

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from helpers.house_trees import TESTS, alone, reach
from helpers.installs import (
    ROOT,
    build_wheel,
    install,
    link,
    measure_really,
    measure_simulated,
    pip,
    run,
)

_SDIST = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"


def test_the_source_archive_has_every_file_of_the_packages(tmp_path: Path) -> None:
    """The wheel leaves out the same files, and takes a minute to build."""
    done = subprocess.run([sys.executable, "-c", _SDIST, str(tmp_path)], cwd=ROOT, check=True)
    assert done.returncode == 0
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        held = {name.partition("/")[2] for name in file.getnames()}
    assert _sources("src", "runtime", "fragments", "core", "jvm") - held == set()
    assert not [name for name in held if name.startswith(("runs/", "build/"))]


def _sources(*folders: str) -> set[str]:
    files = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())
    kept = (path for path in files if path.suffix != ".so" and path.parent.name != "__pycache__")
    return {str(path.relative_to(ROOT)) for path in kept}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def tool(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(wheel, tmp_path_factory.mktemp("installed") / "venv") / "deadbeat"


@pytest.mark.slow
def test_the_wheel_carries_what_it_compiles_and_no_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
    native = {f"deadbeat/_native/{name}" for name in _sources("runtime", "fragments", "jvm")}
    expected = {name for name in native if "/runtime/tests/" not in name}
    assert {name for name in names if name.startswith("deadbeat/_native/")} == expected


@pytest.mark.slow
def test_the_installed_tool_is_not_the_clone(tool: Path, tmp_path: Path) -> None:
    python = tool.with_name("python")
    asked = "import deadbeat, deadbeat.build.native as n; print(deadbeat.__file__, n.native_root())"
    argv = [str(python), "-c", asked]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert str(ROOT) not in done.stdout
    prefix = tool.parents[1]
    assert (prefix / "share/man/man1/deadbeat.1").is_file()
    assert (prefix / "share/doc/deadbeat/examples/latency.toml").is_file()


@pytest.mark.slow
def test_a_simulated_matrix_from_the_wheel(tool: Path, tmp_path: Path) -> None:
    measure_simulated(tool, tmp_path)


@pytest.mark.slow
@pytest.mark.hardware
def test_a_real_measurement_from_the_wheel(tool: Path, tmp_path: Path) -> None:
    measure_really(tool, tmp_path)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of deadbeat.sched alone."""
    return build_wheel(tmp_path_factory.mktemp("library"), ROOT / "packages/deadbeat-sched")


SYSTEM = '{"processors": 2, "tasks": [{"wcet": 1, "period": 3}]}'
#: Analyses standard input, and says what of the command line was imported.
LIGHT = """
import sys
from deadbeat.sched.__main__ import main
assert main(["analyze", "-"]) == 0
print(sorted({"click", "rich", "scipy", "cattrs"} & {*sys.modules}))
"""


@pytest.mark.slow
def test_the_wheels_share_no_file(wheel: Path, library: Path) -> None:
    held = [{*zipfile.ZipFile(each).namelist()} for each in (wheel, library)]
    assert held[0] & held[1] == set()


@pytest.mark.slow
@pytest.mark.parametrize("first", ["deadbeat", "deadbeat-sched"])
@pytest.mark.parametrize("removed", ["deadbeat", "deadbeat-sched"])
def test_either_wheel_is_removed_and_the_other_works(
    wheel: Path, library: Path, first: str, removed: str, tmp_path: Path
) -> None:
    both = (wheel, library) if first == "deadbeat" else (library, wheel)
    for each in both:
        binary = install(each, tmp_path / "venv")
    python, file = binary / "python", tmp_path / "system.json"
    file.write_text(SYSTEM)
    answered = (python, tmp_path, "-m", "deadbeat.sched", "analyze", str(file))
    assert "schedulable under" in run(*answered)
    assert "schedulable under" in run(binary / "deadbeat", tmp_path, "sched", "analyze", str(file))
    where = run(python, tmp_path, "-c", "import deadbeat; print(deadbeat.__file__)")
    assert "deadbeat_sched" not in where, "where both are, the whole one is imported"

    pip(tmp_path / "venv", "uninstall", "--yes", removed)
    assert "schedulable under" in run(*answered)
    if removed == "deadbeat-sched":
        measure_simulated(binary / "deadbeat", tmp_path)


@pytest.mark.slow
def test_the_library_needs_attrs_and_numpy_alone(library: Path, tmp_path: Path) -> None:
    python = install(library, tmp_path / "venv") / "python"
    (packages,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    assert {each.name for each in packages.iterdir() if "-" not in each.name} == {
        *("attr", "attrs", "numpy", "numpy.libs", "deadbeat_sched", "deadbeat_sched.pth")
    }
    done = subprocess.run(
        [python, "-c", LIGHT],
        cwd=tmp_path,
        input=SYSTEM,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[0].startswith("schedulable under")
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_the_library_alone_passes_its_tests(library: Path, tmp_path: Path) -> None:
    """Quick tests that import nothing else."""
    python = install(library, tmp_path / "venv") / "python"
    link(tmp_path / "venv", "pytest", "hypothesis", "jsonschema")
    with zipfile.ZipFile(library) as file:
        modules = [Path(name).with_suffix("").parts[2:] for name in file.namelist()]
    held = {".".join(module).removesuffix(".__init__") for module in modules}
    tests = [each for each in alone("sched") if reach(each) <= held]
    names = {each.stem for each in tests}
    assert {"test_sched_tests", "test_sched_oracles", "test_sched_verdicts"} <= names
    quick = ["-q", "-p", "no:cacheprovider", "-m", "not slow and not statistical"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [python, "-m", "pytest", *quick, *map(str, tests)],
        cwd=TESTS, env=kept, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.slow
def test_a_clone_is_installed_by_one_command(tmp_path: Path) -> None:
    """``pip install .``, with what it fetches to build."""
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    link(tmp_path / "venv", "scikit-build-core", "nanobind", "cmake", "ninja")
    options = ("--no-deps", "--no-build-isolation", "-C", f"build-dir={tmp_path / 'build'}")
    pip(tmp_path / "venv", "install", *options, str(ROOT))
    link(tmp_path / "venv", "attrs", "cattrs", "click", "numpy", "rich", "scipy")
    measure_simulated(tmp_path / "venv/bin/deadbeat", tmp_path)
