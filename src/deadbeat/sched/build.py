"""Builds the scheduling core in a clone that has none yet."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from fcntl import LOCK_EX, flock
from pathlib import Path

from deadbeat.base.model.errors import BuildError


def build_core() -> None:
    """Builds it into the environment of the clone this runs from; what that prints is seen.
    Raises BuildError: this is no clone, or it could not be built."""
    root, environment = _clone(), Path(sys.prefix).resolve()
    if environment != root / ".venv":
        raise BuildError("this installation lacks the scheduling core", "install deadbeat again")
    try:
        folder = os.open(environment, os.O_RDONLY)
        try:
            flock(folder, LOCK_EX)  # who comes second finds it built
            owner = os.fstat(folder)
            # What is made under sudo belongs to whom the clone belongs.
            other = os.geteuid() != owner.st_uid
            home = {"HOME": pwd.getpwuid(owner.st_uid).pw_dir} if other else {}
            subprocess.run(
                [str(root / "tools/setup"), "core"],
                check=True,
                stdin=subprocess.DEVNULL,
                stdout=2,
                env={**os.environ, **home},
                user=owner.st_uid if other else None,
                group=owner.st_gid if other else None,
                extra_groups=[] if other else None,
            )
        finally:
            os.close(folder)
    except (OSError, KeyError, subprocess.CalledProcessError) as error:
        raise BuildError(
            "the scheduling core, which this needs, is not built", f"in {root} type: tools/setup"
        ) from error


def _clone() -> Path:
    return Path(__file__).resolve().parents[3]
