"""What pages of this package embed: assets of the package, and the policy that allows only them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib import metadata, resources
from string import Template


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


def document(
    body: str,
    *,
    title: str,
    styles: Sequence[str],
    scripts: Sequence[str],
    fields: Mapping[str, str],
    plots: bool = True,
) -> str:
    """A whole page: the common head, and the asset ``body`` with its fields filled in.

    Args:
        title: Text; it is escaped here.
        styles, scripts: Assets; the scripts become one element.
        fields: Markup: escaped by who made it.
        plots: Whether the plotting library is part of the page.
    """
    script = "".join(map(asset, scripts))
    library = plotly() if plots else ""
    head = Template(asset("head.html")).substitute(
        policy=content_policy(*([library, script] if plots else [script])),
        title=escape(title),
        style="".join(map(asset, styles)),
    )
    return Template(asset(body)).substitute(
        fields,
        head=head.rstrip(),
        version=escape(metadata.version("deadbeat")),
        script=script,
        **({"plotly": library} if plots else {}),
    )
