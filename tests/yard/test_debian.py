"""The Debian package: built by the usual tools, installed into a root of its own, and run."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from helpers.installs import ROOT, measure_really, measure_simulated


def test_the_package_has_the_version_and_python_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    changelog = (ROOT / "debian/changelog").read_text()
    assert changelog.startswith(f"deadbeat ({project['version']}) ")
    control = (ROOT / "debian/control").read_text()
    assert f"python3-dev ({project['requires-python'][:2]} " in control


def test_what_it_installs_is_there() -> None:
    for name in ("manpages", "docs", "examples"):
        for line in (ROOT / f"debian/deadbeat.{name}").read_text().split():
            assert list(ROOT.glob(line)), line
    rules = (ROOT / "debian/rules").read_text()
    for file in re.findall(r" (debian/deadbeat\.\w+|requirements\S*)", rules):
        assert (ROOT / file).exists() or file.endswith(".substvars"), file


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("dh"):
        pytest.skip("debhelper is not installed")
    source = tmp_path_factory.mktemp("debian") / "source"
    left_out = shutil.ignore_patterns(
        ".git", ".venv", "build", "runs", "__pycache__", "*.so", ".debhelper", "pip"
    )
    shutil.copytree(
        ROOT,
        source,
        ignore=lambda folder, names: (
            left_out(folder, names) - {"build"}
            if "/src/" in f"{folder}/"
            else left_out(folder, names)
        ),
    )
    subprocess.run(["dpkg-buildpackage", "-b", "-us", "-uc"], cwd=source, check=True)
    (package,) = source.parent.glob("deadbeat_*.deb")
    root = source.parent / "root"
    for folder in ("info", "updates"):
        (root / "var/lib/dpkg" / folder).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    # What it depends on is this machine's: the root has nothing else.
    install = ["dpkg", f"--root={root}", "--force-depends", "--force-not-root", "-i", str(package)]
    fakeroot = [] if os.geteuid() == 0 else ["fakeroot"]
    subprocess.run([*fakeroot, *install], check=True)
    return root


@pytest.mark.slow
def test_the_package_brings_manual_completion_and_examples(installed: Path) -> None:
    share = installed / "usr/share"
    for name in (
        "man/man1/deadbeat.1.gz",
        "bash-completion/completions/deadbeat",
        "zsh/vendor-completions/_deadbeat",
        "fish/vendor_completions.d/deadbeat.fish",
        "doc/deadbeat/examples/latency.toml",
    ):
        assert (share / name).stat().st_size > 100, name


@pytest.mark.slow
def test_a_simulated_matrix_from_the_package(installed: Path, tmp_path: Path) -> None:
    measure_simulated(installed / "usr/bin/deadbeat", tmp_path, "--figures")
    assert (tmp_path / "runs/latest/figures").is_dir()


@pytest.mark.slow
@pytest.mark.hardware
def test_a_real_measurement_from_the_package(installed: Path, tmp_path: Path) -> None:
    measure_really(installed / "usr/bin/deadbeat", tmp_path)


def test_the_launcher_takes_no_part_of_the_callers_python(tmp_path: Path) -> None:
    """PYTHONPATH and the user's packages could be older, or somebody else's."""
    (tmp_path / "usr/bin").mkdir(parents=True)
    package = tmp_path / "usr/lib/deadbeat/deadbeat"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("def main(): print('ours'); return 3\n")
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    (hostile / "deadbeat.py").write_text("raise SystemExit('theirs')\n")
    launcher = shutil.copy(ROOT / "debian/deadbeat.launcher", tmp_path / "usr/bin/deadbeat")
    done = subprocess.run(
        ["/usr/bin/python3", "-I", launcher],
        env={**os.environ, "PYTHONPATH": str(hostile)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("ours\n", 3)
