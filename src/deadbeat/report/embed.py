"""What pages of this package embed: assets of the package, and the policy that allows only them."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

#: Significant digits of embedded figures; files beside the page hold them in full.
_DIGITS = 6
#: Largest integer a JavaScript number holds exactly; a larger one (a seed) travels as text.
_EXACT_IN_JAVASCRIPT = 2**53 - 1


@cache
def asset(name: str) -> str:
    return resources.files("deadbeat.report").joinpath(f"assets/{name}").read_text("utf-8")


def content_policy(*scripts: str) -> str:
    """Nothing from outside; of scripts only these, and the library that one of them unpacks.
    Plotly sets styles and draws to blobs."""
    unpacked = [_library() for text in scripts if text.startswith(_UNPACK)]
    hashes = " ".join(
        "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
        for text in (*scripts, *unpacked)
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


@cache
def _library() -> str:
    """The plotting library of the installed plotly package, in one line-ending convention."""
    text = resources.files("plotly").joinpath("package_data/plotly.min.js").read_text("utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


#: How every page of figures begins to load the library; charts.js waits for the promise.
_UNPACK = "const plotlyReady ="


@cache
def plotly() -> str:
    """A script that unpacks the plotting library: compressed it is 2 MB instead of 5."""
    # Level 6: the highest takes half as long again and saves 4 KB.
    packed = base64.b64encode(gzip.compress(_library().encode(), 6, mtime=0)).decode()
    return f"""{_UNPACK} (async () => {{
  const packed = Uint8Array.from(atob("{packed}"), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
}})();"""


def encode(data: Mapping[str, object]) -> str:
    """JSON that may stand inside a script element: ``<``, ``>`` and ``&`` only as escapes."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def plain(value: Any) -> Any:
    """A JSON value: floats shortened, what is no number or not finite as None, the rest as text."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, int) and abs(value) > _EXACT_IN_JAVASCRIPT:
        return str(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if hasattr(value, "item"):
        return plain(value.item())
    return str(value)
