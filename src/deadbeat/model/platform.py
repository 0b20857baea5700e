"""What is measured: hardware, kernel, toolchain."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen


@frozen(kw_only=True)
class Platform:
    """A machine as it stands.

    Attributes:
        name: Host name or the target's label.
        kind: ``hardware``, ``emulated`` or ``simulated``: shown wherever a figure of it is.
        machine: Architecture (``x86_64``).
        soc: Processor model.
        cpus: CPU numbers of the logical cores, in order.
        kernel: Release and version.
        preemption: none, voluntary, full, lazy, rt or unknown.
        governor: Frequency policy, or ``none`` where there is no driver.
        toolchain: Compiler identification.
        flags: Compiler flags of runtime and fragments.
        fingerprint: Hash of hardware, frequency policy and toolchain: a calibration belongs to it.
        details: Everything else that was recorded (topology, command line, clock, steal, ...).
    """

    name: str
    kind: str
    machine: str
    soc: str
    cpus: tuple[int, ...]
    kernel: str
    preemption: str
    governor: str
    toolchain: str
    flags: str
    fingerprint: str
    details: dict[str, Any] = field(factory=dict)
