"""`flexarm view --serve`: this machine only, and a page that reloads when its run changes."""

import http.client
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from flexarm.errors import FlexarmError
from flexarm.io.model_file import loads
from flexarm.viewer.serve import Server, serve
from tests.viewer.conftest import DOTS, PATIENCE, SOFTWARE, Contexts, wait_until
from tests.viewer.poses import random_run

LINK = "{flexarm: 1, name: NAME, links: [{joint: {kind: revolute}, length: 1, body: {mass: 1}}]}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.nc"


@pytest.fixture
def server(path: Path) -> Iterator[Server]:
    with serve([path]) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.05,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def save(path: Path, name: str) -> None:
    random_run(loads(LINK.replace("NAME", name), "link"), 3).save(path, force=True)


def ask(server: Server, address: str = "/", host: str | None = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
    connection.request("GET", address, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_it_listens_on_this_machine_only(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert server.url == f"http://127.0.0.1:{server.server_port}/"


def test_requests_under_another_name_are_refused(server: Server) -> None:
    for host in ("evil.example", "evil.example:80", "127.0.0.1"):
        for address in ("/", "/data"):
            assert ask(server, address, host)[0] == 403, host
    status, text = ask(server, "/data")
    assert status == 200
    assert '"kind":"message"' in text


def test_nothing_but_the_page_is_served(server: Server, path: Path) -> None:
    path.write_bytes(b"a run")
    for address in ("/run.nc", "/../run.nc", "/etc/passwd", "/version/"):
        assert ask(server, address)[0] == 404, address


def test_the_version_changes_with_the_file(server: Server, path: Path) -> None:
    assert ask(server, "/version") == (200, "waiting")
    path.write_bytes(b"a run")
    first = ask(server, "/version")[1]
    os.utime(path, ns=(1, 1))
    assert len({"waiting", first, ask(server, "/version")[1]}) == 3


def test_a_file_that_is_no_run_is_told_on_the_page(server: Server, path: Path) -> None:
    path.write_text("no run", encoding="utf-8")
    status, page = ask(server)
    assert status == 200
    assert "cannot be read as a NetCDF file" in page


def test_a_port_that_is_taken_is_told(server: Server, path: Path) -> None:
    with pytest.raises(FlexarmError, match=rf"port {server.server_port}: .*--port"):
        serve([path], server.server_port)


def test_the_page_waits_for_a_run_follows_it_and_says_when_its_server_has_ended(
    server: Server, path: Path, contexts: Contexts
) -> None:
    page = contexts(tuple(SOFTWARE), DOTS).new_page()
    page.emulate_media(reduced_motion="reduce")
    page.set_viewport_size({"width": 640, "height": 480})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(server.url)
    assert page.locator("#title").inner_text() == f"waiting for {path}"
    save(path, "first")
    expect(page.locator("#title")).to_have_text("first", timeout=PATIENCE)
    wait_until(page, "window.flexarm !== undefined")
    page.evaluate("flexarm.seek(0.5)")
    save(path, "second")
    expect(page.locator("#title")).to_have_text("second", timeout=PATIENCE)
    wait_until(page, "window.flexarm !== undefined")
    assert page.evaluate("flexarm.time()") == pytest.approx(0.5)
    server.shutdown()
    server.server_close()
    wait_until(page, "document.getElementById('warning').textContent.includes('has ended')")
    page.close()
    assert errors == []


def test_a_browser_that_goes_away_leaves_no_traceback(
    server: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", server.server_port)) as client:
            # Closed with a reset, before anything is read.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.sendall(f"GET /data HTTP/1.1\r\nHost: {server.url[7:-1]}\r\n\r\n".encode())
    assert ask(server)[0] == 200  # it goes on
    time.sleep(0.1)
    assert capfd.readouterr().err == ""
