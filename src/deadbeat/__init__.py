"""deadbeat: where a multi-core Linux system starts missing its deadlines, and why.

The names below are the public interface; each is imported when first used, so that
``import deadbeat`` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deadbeat.kinds.contention.view import open_campaign as open

    __version__: str

__all__ = ["__version__", "open"]


def __getattr__(name: str) -> Any:
    if name == "open":
        from deadbeat.kinds.contention.view import open_campaign  # noqa: PLC0415  (lazy on purpose)

        return open_campaign
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("deadbeat")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
