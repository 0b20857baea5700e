"""Kernels of the lab in place of commits: a program boots each by its name."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.words import nearest, shown
from deadbeat.program.bisect.repository import Commit

#: Before a range of kernels; the place of a kernel's name in the words of the program.
LAB, NAME = "lab:", "{}"
_OFFERS = "deadbeat.lab.offers"  # another house, loaded by name


def kernels_of(text: str, target: str) -> tuple[Commit, ...]:
    """Packages of the first one's flavour, oldest first. Raises UsageError: there are none."""
    if target.rstrip(":") != LAB.rstrip(":"):
        raise UsageError(f"--target {target}: bisect runs here, or over kernels", f"--target {LAB}")
    lab = import_module(_OFFERS)
    ends = text.split("..")
    known: Any = ()
    for machine in lab.ARCHITECTURES if len(ends) == 2 else ():
        if any(debian in ends[0] for debian, each in lab.MACHINES.items() if each == machine):
            known = lab.offers(machine).kernels
    places = []
    for end in ends if len(ends) == 2 else ():
        found = [n for n, each in enumerate(known) if end in (each.name, each.label)]
        if not found:
            labels = [each.label for each in known] or ["5.10-amd64..6.12-amd64"]
            hint = nearest(end, labels)
            raise UsageError(f"no kernel {shown(end)} is to be had", hint)
        places.append(found[-1])
    if len(places) != 2:
        raise UsageError(f"{shown(text)} is not GOOD..BAD", "5.10-amd64..6.12-amd64")
    good, bad = places
    flavour = known[good].flavour
    row = [each for each in known[good : bad + 1] if each.flavour == flavour]
    if good >= bad or known[bad].flavour != flavour:
        raise UsageError(f"{text} is no row of kernels", "the older one first, of one flavour")
    return tuple(Commit(each.name, each.version) for each in row)
