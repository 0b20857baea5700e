"""``deadbeat page --follow``: the page of a result on loopback, which follows what is measured.

Nothing is computed but where a browser asks, and then at idle priority: whatever is measured on the
same CPU goes first. What a browser asks every few seconds is answered from the names of the stored
runs; the page is built again only after one was added, and not more often than every ``PAUSE_S``.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import threading
import time
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from attrs import define, evolve, field

from deadbeat.cli._output import say
from deadbeat.kinds.base import ExperimentKind
from deadbeat.kinds.registry import find
from deadbeat.model.errors import DeadbeatError, UsageError
from deadbeat.model.refused import refusal
from deadbeat.model.words import Json, escape
from deadbeat.report.html import page

#: Least time between two pages that are made.
PAUSE_S = 10.0
#: Folders of runs; their content changes as one is added.
_FOLDERS = ("runs", "jobs", "chunks", "failed", "rejected")
_SCRIPT = "watch.js"
#: At a time; and the seconds that one has to ask, and to take a part of the answer.
_CONNECTIONS, _PATIENCE_S = 32, 10.0


def watch(run: str, runs: Path, port: int, show: bool) -> None:
    """Serves until it is interrupted."""
    kind, path = find(runs, run)
    followed = Followed(kind=kind, path=path)
    token = secrets.token_urlsafe(16)
    try:
        server = PageServer(("127.0.0.1", port), partial(PageHandler, followed, token))
    except OSError as error:
        what = f"--port: {port} cannot be used"
        raise UsageError(*refusal(what, error, "0 takes a free one")) from None
    with server, suppress(KeyboardInterrupt):  # the way to end it
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        url = f"http://127.0.0.1:{server.server_port}/{token}/"
        say(f"{path} at {url} (Ctrl-C ends this page, not the measurement)")
        if show:
            webbrowser.open(url)
        server.serve_forever(poll_interval=3600)


class PageServer(ThreadingHTTPServer):
    """A thread for each connection, so that none waits for an idle one."""

    daemon_threads = True

    def process_request(self, request: Any, client_address: Any) -> None:
        """Begins to answer; what comes beyond ``_CONNECTIONS`` is closed at once."""
        if threading.active_count() > _CONNECTIONS:
            self.shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a browser that leaves is no event, and the terminal belongs to the person."""


@define(kw_only=True)
class Followed:
    """A result and its page.

    Attributes:
        clock: Seconds, for tests.
    """

    kind: ExperimentKind
    path: Path
    clock: Callable[[], float] = time.monotonic
    _made: tuple[str, float, str] | None = field(default=None, init=False)
    _making: threading.Lock = field(factory=threading.Lock, init=False)

    def version(self) -> str:
        """Differs once a run was added or the page was written."""
        found = []
        for name in (*_FOLDERS, "."):
            with suppress(OSError):
                found.append(str((self.path / name).stat().st_mtime_ns))
        return "-".join(found)

    def state(self) -> dict[str, Json]:
        """What the page asks again and again."""
        if not self.path.is_dir():
            return {"version": "", "text": "the folder is gone"}
        state = self.kind.state_of(self.path)
        text = f"{state.state}: {state.done} of {state.planned}"
        return {"version": self.version(), "text": state.problem or text}

    def page(self) -> str:
        """The page, as old as ``PAUSE_S`` at most."""
        with self._making:
            now, version = self.clock(), self.version()
            if self._made is not None:
                of, at, text = self._made
                if of == version or now - at < PAUSE_S:
                    return text
            text = self._text()
            self._made = version, now, text
            return text

    def _text(self) -> str:
        try:
            document = self.kind.show(self.path).document
        except DeadbeatError as error:
            return _plain(f"{self.path.name}: {error}")
        if document is None:
            return _plain(f"{self.path.name}: no result yet")
        followed = evolve(document, scripts=(*document.scripts, _SCRIPT))
        return page(followed, connects=True)


def _plain(text: str) -> str:
    """A page that asks again by itself."""
    return (
        '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="5">'
        f"<title>deadbeat</title><p>{escape(text)}</p>"
    )


class PageHandler(BaseHTTPRequestHandler):
    """Answers GET and HEAD of the page and its state, below a secret word; 404 to all else."""

    server_version = "deadbeat"
    sys_version = ""
    protocol_version = "HTTP/1.0"
    timeout = _PATIENCE_S

    def __init__(self, followed: Followed, token: str, *more: object) -> None:
        self.followed, self.token = followed, token
        super().__init__(*more)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def _answer(self, *, body: bool) -> None:
        _, token, *names = [*self.path.split("/"), ""]
        host = self.headers.get("Host", "").rpartition(":")[0]
        # another name for this address is a page that tries to read this one
        if host not in ("127.0.0.1", "localhost") or not hmac.compare_digest(
            token.encode(), self.token.encode()
        ):
            self.send_error(404)
            return
        if names == ["", ""]:
            kind, text = "text/html; charset=utf-8", self.followed.page()
        elif names == ["state", ""]:
            kind, text = "application/json", json.dumps(self.followed.state())
        else:
            self.send_error(404)
            return
        data = text.encode()
        self.send_response(200)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(data))),
            ("Cache-Control", "no-store"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
        ):
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing: the terminal belongs to the person."""
