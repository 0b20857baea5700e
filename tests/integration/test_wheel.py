"""What is installed outside the clone works there: files of the source archive, and the wheel in an
environment of its own."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from helpers.installs import ROOT, build_wheel, install, measure_really, measure_simulated

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
