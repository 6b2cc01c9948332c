"""Serves the explorer's page and its answers, to this machine alone unless told otherwise."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from santa_sim.dashboard.answer import answer, page_html, view_of
from santa_sim.dashboard.store import Store
from santa_sim.report.load import POINTS


class Explorer:
    """A store, and which state of its runs it holds."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.version = self._now()
        self._lock = threading.Lock()

    def _now(self) -> str:
        stats = [(f / f"{POINTS}.parquet").stat() for f in self.store.folders]
        return " ".join(f"{s.st_mtime_ns}:{s.st_size}" for s in stats)

    def fresh(self) -> str:
        """Read the runs again if they were written since; return their version."""
        with self._lock:
            try:
                now = self._now()
            except OSError:  # just being replaced
                return self.version
            if now != self.version:
                self.store.read()
                self.version = now
            return self.version


def serve(explorer: Explorer, host: str, port: int) -> ThreadingHTTPServer:
    """Return a server that is bound and not yet running; port 0 takes a free one."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Answer one request."""
            # another name for this address would be a page of somebody else's, asking through ours
            name = self.headers.get("Host", "").rsplit(":", 1)[0]
            if host == "127.0.0.1" and name not in ("127.0.0.1", "localhost"):
                self._send(403, "text/plain", "only for this machine")
                return
            url = urlsplit(self.path)
            try:
                if url.path == "/":
                    version = explorer.fresh()
                    self._send(200, "text/html", page_html(explorer.store, version))
                elif url.path == "/version":
                    self._send(200, "text/plain", explorer.fresh())
                elif url.path == "/rows":
                    given = json.loads(parse_qs(url.query).get("view", ["null"])[0])
                    view = view_of(explorer.store, given)
                    self._send(200, "text/plain", answer(explorer.store, view, explorer.version))
                else:
                    self._send(404, "text/plain", "there is nothing here")
            except ValueError as error:
                self._send(400, "text/plain", str(error))

        def _send(self, status: int, kind: str, text: str) -> None:
            body = text.encode("utf-8")
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing per request."""

    return ThreadingHTTPServer((host, port), Handler)
