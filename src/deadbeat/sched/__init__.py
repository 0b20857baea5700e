"""The schedulability lab: simulator, schedulability tests and generators over the C++ core.

The public interface is in ``__init__.pyi``: each name is imported when first used.
"""

from __future__ import annotations

from deadbeat.base.model.public import public_names

__getattr__, __dir__ = public_names(__file__)
