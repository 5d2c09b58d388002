"""Show a run in a browser on this machine, and again whenever its file changes."""

import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from flexarm.errors import FlexarmError
from flexarm.runs.read import load_run
from flexarm.viewer.bundle import fill_page
from flexarm.viewer.pack import to_json
from flexarm.viewer.page import file_labels, run_data, title_of

HOST = "127.0.0.1"  # nobody else's machine is served
WAITING = "waiting"
HINT = "'flexarm simulate ARM --out FILE' makes it at the end, with --live from the start on"


def serve(paths: Sequence[Path], port: int = 0) -> "Server":
    """Make a server for the page of one run or two, read again when a file has changed.

    Parameters
    ----------
    paths
        Files of runs; one that is not there yet is waited for.
    port
        On which to listen, on this machine only; any free one if 0.

    Returns
    -------
    Server
        Call its ``serve_forever``; ``url`` says where it is.

    Raises
    ------
    FlexarmError
        If the port is taken.
    """
    try:
        return Server((HOST, port), WatchedPage(paths))
    except OSError as error:
        raise FlexarmError(
            f"port {port}: cannot be listened on: {error.strerror}: name another with --port"
        ) from None


class WatchedPage:
    """The page of some run files and its data, made again when they change."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = list(paths)
        self.lock = threading.Lock()
        self.made = ("", "", "")  # version, title, data

    def version(self) -> str:
        """Tell one state of the files from another."""
        try:
            stats = [path.stat() for path in self.paths]
        except OSError:
            return WAITING
        return "-".join(f"{each.st_mtime_ns:x}.{each.st_size:x}" for each in stats)

    def page(self) -> str:
        """Give the page of the files as they are now."""
        return fill_page(*self._renewed(), live=True)

    def data(self) -> str:
        """Give the data of that page alone: a page that is open goes on with them."""
        return self._renewed()[1]

    def missing(self) -> list[Path]:
        """List the files that are waited for."""
        return [path for path in self.paths if not path.exists()]

    def _renewed(self) -> tuple[str, str]:
        with self.lock:
            version = self.version()
            if self.made[0] != version:
                self.made = (version, *self._make(version))
            return self.made[1:]

    def _make(self, version: str) -> tuple[str, str]:
        if version == WAITING:
            absent = ", ".join(map(str, self.missing()))
            return "flexarm", _message(f"waiting for {absent}", HINT, version)
        try:
            runs = [load_run(path) for path in self.paths]
            return title_of(runs), run_data(runs, file_labels(self.paths), live=version)
        except FlexarmError as error:
            return "flexarm", _message(str(error), "", version)


class Server(ThreadingHTTPServer):
    """A server on this machine only."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], source: WatchedPage) -> None:
        self.source = source
        super().__init__(address, partial(Handler, source))

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a browser that goes away before its answer is whole."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.server_port}/"


class Handler(BaseHTTPRequestHandler):
    """Answer for the page, its data and their version, to this machine's browser only."""

    server: Server

    def __init__(self, source: WatchedPage, *args: object) -> None:
        self.source = source
        super().__init__(*args)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        """Answer a request."""
        # A page elsewhere may have its name point to this machine: its requests have that name.
        allowed = {f"{name}:{self.server.server_port}" for name in (HOST, "localhost")}
        if self.headers.get("Host") not in allowed:
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        answers: dict[str, tuple[Callable[[], str], str]] = {
            "/": (self.source.page, "text/html"),
            "/data": (self.source.data, "application/json"),
            "/version": (self.source.version, "text/plain"),
        }
        if self.path not in answers:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        make, kind = answers[self.path]
        body = make().encode("utf-8", errors="replace")
        self.send_response(HTTPStatus.OK)
        for name, value in {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
            "X-Frame-Options": "DENY",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet: a page asks often."""


def _message(text: str, hint: str, version: str) -> str:
    """Make the data of a page that says something and is another when there is more to see."""
    data = {"kind": "message", "title": text, "facts": hint, "live": version, "arrays": ""}
    return to_json(data)
