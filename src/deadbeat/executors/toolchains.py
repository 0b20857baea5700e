"""Which compiler makes programs for a target."""

from __future__ import annotations

from deadbeat.build.toolchain import Toolchain, toolchain_for
from deadbeat.model.errors import TargetError
from deadbeat.targets.base import Target, is_here


def toolchain_of(target: Target, *, cross: str | None = None) -> Toolchain:
    """The compiler of programs that run on ``target``.

    Args:
        cross: As `Toolchain.find`; None: as found for its architecture.

    Raises:
        BuildError: There is none.
        TargetError: What ``target`` is cannot be found out.
    """
    if is_here(target) and cross is None:
        return Toolchain.find()
    return toolchain_for(machine_of(target), cross=cross)


def machine_of(target: Target) -> str:
    """Its architecture, as ``uname -m`` says it."""
    done = target.run(("uname", "-m"))
    machine = done.stdout.strip()
    if done.returncode != 0 or not machine.isidentifier():
        raise TargetError(
            f"{target.name} does not tell its architecture (uname -m)", "has it a POSIX shell?"
        )
    return machine
