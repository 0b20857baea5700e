"""Truth: docs/howto/read-a-report.md: one page on loopback, behind a secret word, as runs come."""

import http.client
import json
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import HTTPServer
from pathlib import Path

import pytest
from helpers.answers import Capture

from deadbeat.cli.main import main
from deadbeat.cli.watch import PAUSE_S, Followed, PageHandler, PageServer
from deadbeat.kinds.registry import find

TOKEN = "secret"
MADE = ("latency", "--simulated", "--no-figures", "--loads", "idle", "--duration", "0.2s")


@pytest.fixture
def followed(in_a_folder: None) -> Followed:
    assert main((*MADE, "--name", "tiny", "--repeats", "2")) == 0
    kind, path = find(Path("runs"), "tiny")
    return Followed(kind=kind, path=path)


@pytest.fixture
def server(followed: Followed) -> Iterator[HTTPServer]:
    with PageServer(("127.0.0.1", 0), partial(PageHandler, followed, TOKEN)) as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.01,))
        thread.start()
        yield served
        served.shutdown()
        thread.join()


def get(
    server: HTTPServer, path: str, *, host: str = "", method: str = "GET"
) -> tuple[int, bytes, http.client.HTTPMessage]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    headers = {"Host": host} if host else {}
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read(), answer.headers


def test_the_page_and_its_state_are_served_and_nothing_else(server: HTTPServer) -> None:
    status, body, headers = get(server, f"/{TOKEN}/")
    assert (
        status == 200
        and b"connect-src 'self'" in body
        and b"watched" in body
        and b"wake-ups" in body
    )
    assert headers["Cache-Control"] == "no-store" and headers["X-Frame-Options"] == "DENY"
    assert get(server, f"/{TOKEN}/", method="HEAD")[:2] == (200, b"")
    status, body, _ = get(server, f"/{TOKEN}/state")
    assert status == 200 and json.loads(body)["text"] == "finished: 2 of 2"
    for path in ("/", "/wrong/", f"/{TOKEN}", f"/{TOKEN}/latency.json", f"/{TOKEN}/../x",
                 f"/{TOKEN}/state/x", "/%73ecret/"):  # fmt: skip
        assert get(server, path)[0] == 404, path
    assert get(server, f"/{TOKEN}/", method="POST")[0] == 501


def test_a_connection_that_asks_nothing_keeps_nobody_waiting(
    server: HTTPServer, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(PageHandler, "timeout", 0.3)
    address = ("127.0.0.1", server.server_port)
    with socket.create_connection(address, 30) as idle, socket.create_connection(address) as left:
        left.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        left.sendall(f"GET /{TOKEN}/ HTTP/1.0\r\nHost: localhost:1\r\n\r\n".encode())
        left.close()  # reset: nobody reads the page
        assert get(server, f"/{TOKEN}/state")[0] == 200
        assert idle.recv(1) == b"", "it was not closed"
        idle.close()
    with socket.create_connection(address, 30) as long:
        long.sendall(b"GET /" + b"x" * 70000)
        assert long.recv(20).split()[1] == b"414"
    assert capsys.readouterr().err == ""


def test_more_connections_than_a_person_has_are_closed(
    server: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deadbeat.cli.watch._CONNECTIONS", 0)
    with socket.create_connection(("127.0.0.1", server.server_port), 30) as refused:
        assert refused.recv(1) == b""


def test_a_page_of_another_name_reads_nothing(server: HTTPServer) -> None:
    """A name that somebody lets point here must not open it to the pages of that name."""
    port = server.server_port
    assert get(server, f"/{TOKEN}/state", host=f"evil.example:{port}")[0] == 404
    assert get(server, f"/{TOKEN}/state", host=f"localhost:{port}")[0] == 200


def test_a_page_is_made_anew_after_a_run_and_not_more_often_than_told(followed: Followed) -> None:
    now = [0.0]
    followed.clock = lambda: now[0]
    first = followed.page()
    version = followed.version()
    now[0] = 2 * PAUSE_S
    assert followed.page() is first, "nothing was added"
    run = next((followed.path / "runs").iterdir())
    kept = run.read_bytes()
    run.unlink()
    assert followed.version() != version
    second = followed.page()
    assert second is not first
    run.write_bytes(kept)
    assert followed.page() is second, "too soon"
    now[0] += PAUSE_S
    assert followed.page() is not second


def test_a_folder_that_is_damaged_or_gone_is_told(followed: Followed) -> None:
    now = [0.0]
    followed.clock = lambda: now[0]
    head = followed.path / "latency.json"
    head.write_text("<script>")
    assert "damaged" in str(followed.state()["text"]) and "<script>alert" not in followed.page()
    shutil.rmtree(followed.path)
    now[0] = 2 * PAUSE_S
    assert followed.state() == {"version": "", "text": "the folder is gone"}
    assert followed.page().startswith("<!doctype html>")


def test_pages_that_are_not_watched_ask_nobody(followed: Followed) -> None:
    assert "connect-src" not in (followed.path / "report.html").read_text(encoding="utf-8")


def test_it_ends_by_a_signal(followed: Followed) -> None:
    command = [sys.executable, "-m", "deadbeat", "watch", "tiny"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as served:
        assert " at http://127.0.0.1:" in served.stderr.readline()
        served.send_signal(signal.SIGINT)
        assert served.wait(60) == 0


def test_a_port_that_is_taken_is_one_line(server: HTTPServer, capsys: Capture) -> None:
    assert main(("watch", "tiny", "--port", str(server.server_port))) == 2
    assert "0 takes a free one" in capsys.readouterr().err
