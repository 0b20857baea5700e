"""deadbeat: where a multi-core Linux system starts missing its deadlines, and why.

The public interface is in ``__init__.pyi``: each name is imported when first used.
"""

from __future__ import annotations

from deadbeat.base.model.public import public_names


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415

    return version("deadbeat")


__getattr__, __dir__ = public_names(__file__, __version__=_version)
