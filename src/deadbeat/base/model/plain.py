"""What a locale without other characters than ASCII shows in place of ours."""

from __future__ import annotations

import os

PLAIN = str.maketrans(
    {
        **{"µ": "u", "ρ": "rho", "α": "alpha", "°": " deg", "×": "x", "·": "*"},
        **{"–": "-", "—": "-", "−": "-", "±": "+-", "≥": ">=", "≤": "<=", "→": "->", "…": "..."},
        **{"░": ".", "▒": ":", "▓": "%", "█": "#", "“": '"', "”": '"'},
    }
)


def is_plain() -> bool:
    """Whether the locale that is asked for has ASCII alone (Python would write UTF-8)."""
    return os.environ.get("LC_ALL") in ("C", "POSIX")
