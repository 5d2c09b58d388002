"""Local web server for a page of runs, updated whenever the files of the runs change."""

import sys
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from flexarm.errors import FlexarmError
from flexarm.runs.read import load_run
from flexarm.viewer.bundle import fill_page, to_json
from flexarm.viewer.page import file_labels, run_data, title_of

HOST = "127.0.0.1"  # requests from this machine only
WAITING = "waiting"
HINT = "'flexarm simulate ARM --out FILE' makes it at the end, with --live from the start on"


def serve(paths: Sequence[Path], port: int = 0) -> "Server":
    """Return a local web server for a page of runs, updated when the files change.

    Parameters
    ----------
    paths
        Paths of the files of runs; the page waits for files that do not exist yet.
    port
        Port on this machine to listen on; 0 for any free port.

    Returns
    -------
    Server
        Web server, which runs while its method ``serve_forever`` is called; ``url`` is the address
        of the page.

    Raises
    ------
    FlexarmError
        If another program uses the port.
    """
    try:
        return Server((HOST, port), WatchedPage(paths))
    except OSError as error:
        raise FlexarmError(
            f"port {port}: cannot be used: {error.strerror}. Choose another port with --port."
        ) from None


class WatchedPage:
    """HTML page of run files, and its data, rebuilt when the files change."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = list(paths)
        self.lock = threading.Lock()
        self.made = ("", "", "")  # version, title and data of the page

    def version(self) -> str:
        """Return text that changes whenever a file of a run changes."""
        try:
            stats = [path.stat() for path in self.paths]
        except OSError:
            return WAITING
        return "-".join(f"{stat.st_mtime_ns:x}.{stat.st_size:x}" for stat in stats)

    def page(self) -> str:
        """Return the HTML text of the page for the present files."""
        return fill_page(*self._renewed(), live=True)

    def data(self) -> str:
        """Return the page's data as JSON, for a page that is already open in a browser."""
        return self._renewed()[1]

    def missing(self) -> list[Path]:
        """Return the files of runs that do not exist yet."""
        return [path for path in self.paths if not path.exists()]

    def _renewed(self) -> tuple[str, str]:
        with self.lock:
            version = self.version()
            if self.made[0] != version:
                self.made = (version, *self._make(version))
            return self.made[1:]

    def _make(self, version: str) -> tuple[str, str]:
        if version == WAITING:
            missing_files = ", ".join(map(str, self.missing()))
            return "flexarm", _message(f"waiting for {missing_files}", HINT, version)
        try:
            runs = [load_run(path) for path in self.paths]
            return title_of(runs), run_data(runs, file_labels(self.paths), live=version)
        except FlexarmError as error:
            return "flexarm", _message(str(error), "", version)


class Server(ThreadingHTTPServer):
    """Web server that accepts connections from this machine only."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], source: WatchedPage) -> None:
        self.source = source
        super().__init__(address, Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore connections that the browser closes early, and report all other errors."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    @property
    def url(self) -> str:
        """Web address of the page on this machine."""
        return f"http://{HOST}:{self.server_port}/"


class Handler(BaseHTTPRequestHandler):
    """Handler of HTTP requests for the page, its data and its version, from this machine."""

    server: Server

    def do_GET(self) -> None:
        """Answer a request for the page, its data or its version; refuse other host names."""
        # The DNS name of a foreign page may point to this machine; requests of such a page contain
        # that name and are refused.
        hosts = {f"{name}:{self.server.server_port}" for name in (HOST, "localhost")}
        if self.headers.get("Host") not in hosts:
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        source = self.server.source
        routes: dict[str, tuple[Callable[[], str], str]] = {
            "/": (source.page, "text/html"),
            "/data": (source.data, "application/json"),
            "/version": (source.version, "text/plain"),
        }
        if self.path not in routes:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        source_text, kind = routes[self.path]
        body = source_text().encode("utf-8", errors="replace")
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
        """Write no log, since an open page sends many requests."""


def _message(text: str, hint: str, version: str) -> str:
    """Return page data with a message, which the page shows until the version changes."""
    data = {"kind": "message", "title": text, "facts": hint, "live": version, "arrays": ""}
    return to_json(data)
