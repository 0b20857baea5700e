"""Truth: docs/howto/install.md: each way works from nothing, in a root of Debian's base and the
page's packages; the tool then runs without a network, and as nobody.

The ways share the objects of the core, which one of them builds.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from helpers.installs import ROOT, build_wheel

PAGE = (ROOT / "docs/howto/install.md").read_text()
#: With what a container has of the machine.
ENTER = """for each in proc sys dev; do mount --rbind /$each {root}/$each; done
exec chroot {user} {root} sh -ec "$LINE"
"""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.geteuid() != 0 or not shutil.which("mmdebstrap"), reason="needs root, and mmdebstrap"
    ),
]
CONTAINER = [
    re.sub(r"\\\n\s*", "", step)
    for step in re.findall(r"(?m)^RUN ((?:.*\\\n)*.*)", (ROOT / "Containerfile").read_text())
]
#: What is typed, and the tool.
WAYS = {
    "deb": (["dpkg-buildpackage -b -us -uc", "apt-get install -y ../deadbeat_*.deb"],
            "/usr/bin/deadbeat"),
    "container": (["export PATH=/opt/deadbeat/bin:$PATH",
                   "export DEADBEAT_CACHE=/var/cache/deadbeat", *CONTAINER],
                  "/opt/deadbeat/bin/deadbeat"),
    "pip": (["python3 -m venv /venv", "/venv/bin/pip install ."], "/venv/bin/deadbeat"),
    "pipx": (["pipx install '.[plots]'"], "$HOME/.local/bin/deadbeat"),
    "sched": (["python3 -m venv /sched", "/sched/bin/pip install packages/deadbeat-sched"],
              "/sched/bin/python -m deadbeat.sched"),
}  # fmt: skip


class Bare:
    def __init__(self, root: Path) -> None:
        self.root = root
        (packages,) = re.findall(r"It needs `(build-[^`]*)`", PAGE)
        names = ",".join([*packages.split(), "pipx", "ca-certificates"])
        made = ["mmdebstrap", "-q", "--variant=apt", f"--include={names}", "bookworm", str(root)]
        subprocess.run(made, check=True)
        for file in ("etc/resolv.conf", "etc/pip.conf", "etc/ssl/certs/ca-certificates.crt"):
            if Path("/", file).exists():
                shutil.copy(Path("/", file), root / file)
        git = ["git", "-c", f"safe.directory={ROOT / '.git'}", "clone", "-q"]
        subprocess.run([*git, str(ROOT), str(root / "src")], check=True)

    def run(self, line: str, *, network: bool = False, user: str = "root") -> str:
        """What it says; the mounts end with it."""
        home = "/root" if user == "root" else f"/tmp/{user}"
        kept = {name: value for name, value in os.environ.items() if "proxy" in name.lower()}
        enter = ENTER.format(root=self.root, user=f"--userspec={user}")
        done = subprocess.run(
            ["unshare", "-m", *([] if network else ["-n"]), "sh", "-ec", enter],
            env={
                **kept, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": home,
                "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "LINE": line,
            },
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}: {(done.stdout + done.stderr)[-4000:]}"
        return done.stdout


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Bare:
    return Bare(tmp_path_factory.mktemp("bare") / "root")


SYSTEM = '{"processors": 2, "tasks": [{"wcet": 1, "period": 3}]}'


@pytest.mark.parametrize("way", WAYS)
def test_a_way_of_the_page_works(bare: Bare, way: str) -> None:
    lines, tool = WAYS[way]
    bare.run("\n".join(["cd /src", *lines]), network=True)
    verb = "analyze" if way == "sched" else "sched analyze"
    assert "schedulable" in bare.run(f"echo '{SYSTEM}' | {tool} {verb} -")
    if way == "sched":
        return
    user = "root" if way == "pipx" else "nobody"
    folder = f"mkdir -p /tmp/{user}/{way} && cd /tmp/{user}/{way}"
    quick = "latency --loads idle --engine prober --policy other --duration 1 --cpus 0"
    for line in ("latency --quick --simulated", quick):
        bare.run(f"{folder} && {tool} {line}", user=user)
    assert (bare.root / "tmp" / user / way / "runs/latest/report.html").is_file()


def test_a_wheel_needs_neither_root_nor_compiler_nor_network(bare: Bare, tmp_path: Path) -> None:
    """What it measures with does, and that is said."""
    folder = bare.root / "tmp/wheels"
    shutil.copytree(
        Path(build_wheel(tmp_path)).parent, folder, ignore=shutil.ignore_patterns("build")
    )
    lock = bare.root / "src/requirements.lock"
    fetch = f"/tmp/pip/bin/pip download -q -d /tmp/wheels --require-hashes -r {lock.name}"
    bare.run(
        f"cd /src && python3 -m venv /tmp/pip && {fetch} && chmod -R a+rX /tmp/wheels", network=True
    )
    made = "python3 -m venv /tmp/nobody/venv && /tmp/nobody/venv/bin/pip install --no-index"
    bare.run(f"mkdir -p /tmp/nobody && {made} -f /tmp/wheels deadbeat", user="nobody")
    tool = "cd /tmp/nobody && DEADBEAT_CC=none /tmp/nobody/venv/bin/deadbeat"
    bare.run(f"{tool} latency --quick --simulated", user="nobody")
    said = bare.run(f"{tool} latency --quick --engine prober 2>&1 || true", user="nobody")
    assert "no C compiler" in said
    assert "apt-get install gcc libc6-dev" in said
    assert "no C compiler" in bare.run(f"{tool} doctor --only kernel", user="nobody")
