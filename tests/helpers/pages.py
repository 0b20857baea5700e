"""A page taken apart, and a name that tries to break out of one."""

import json
import re
from html.parser import HTMLParser
from typing import Any

HOSTILE = "</script><script>hacked()</script><img src=x onerror=hacked()> \" ' & $name"


class Page(HTMLParser):
    """Elements with their attributes, the text of scripts, and the other text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.words: list[str] = []
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))

    def data(self) -> dict[str, Any]:
        return json.loads(self.scripts[0])
