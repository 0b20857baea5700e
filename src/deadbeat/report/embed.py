"""What pages of this package embed: assets of the package, and the policy that allows only them."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources


@cache
def asset(name: str) -> str:
    return resources.files("deadbeat.report").joinpath(f"assets/{name}").read_text("utf-8")


def content_policy(*scripts: str) -> str:
    """Nothing from outside; of scripts only these. Plotly sets styles and draws to blobs."""
    hashes = " ".join(
        "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
        for text in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


@cache
def plotly() -> str:
    """The plotting library of the installed plotly package, in one line-ending convention."""
    text = resources.files("plotly").joinpath("package_data/plotly.min.js").read_text("utf-8")
    if "</script" in text.lower():
        raise ValueError("plotly.min.js holds an end tag and cannot be embedded as it is")
    return text.replace("\r\n", "\n").replace("\r", "\n")
