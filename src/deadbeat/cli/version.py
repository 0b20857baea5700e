"""``version``."""

from __future__ import annotations

import platform
from importlib.metadata import version as version_of
from importlib.util import find_spec

from deadbeat.base.kinds.shown import Shown


def version() -> Shown:
    packages = ("attrs", "cattrs", "click", "matplotlib", "numpy", "rich")
    plain = {
        "deadbeat": version_of("deadbeat"),
        "python": platform.python_version(),
        "packages": {name: version_of(name) for name in packages if find_spec(name)},
    }
    return Shown(plain=plain, parts=[f"deadbeat {version_of('deadbeat')}"])
