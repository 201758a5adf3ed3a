"""A local server that answers each request as a test states, and records it. It does not check anything itself."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Union
from urllib.parse import parse_qs, urlsplit

from bonafide import Bonafide


@dataclass
class Answer:
    status: int
    body: object = None
    headers: dict[str, str] | None = None

    def content(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return (self.body if isinstance(self.body, str) else json.dumps(self.body or {})).encode()


Step = Union[Answer, Literal["lost", "silent", "trickle"]]
"""An answer, a connection that is closed without one, no answer at all, or one that never ends."""


@dataclass
class Sent:
    """A request that arrived."""

    method: str
    target: str
    headers: Message
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.target).query)


class Stub:
    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.steps: list[Step] = []
        self.sent: list[Sent] = []
        self.released = threading.Event()
        self._clients: list[Bonafide] = []

    def client(self, *steps: Step, **options: Any) -> Bonafide:
        """A client whose attempts end as `steps` state."""
        self.steps[:], self.sent[:] = steps, []
        defaults = {"base_url": f"{self.url}/base/", "api_key": "bf_test_a", "secret": "s3cret"}
        client = Bonafide(**{**defaults, **options})
        self._clients.append(client)
        return client

    def close_clients(self) -> None:
        for client in self._clients:
            client.close()


@contextmanager
def serving() -> Iterator[Stub]:
    """A stub server on a free port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    stub = Stub(server.server_port)
    server.RequestHandlerClass = handler(stub)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield stub
    finally:
        stub.released.set()
        stub.close_clients()
        server.shutdown()
        thread.join()
        server.server_close()


def handler(stub: Stub) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            stub.sent.append(Sent(self.command, self.path, self.headers, body))
            step = stub.steps.pop(0) if stub.steps else Answer(500, {"message": "an unexpected attempt"})
            if step == "silent":
                stub.released.wait(10)
            if isinstance(step, str) and step != "trickle":
                self.close_connection = True
            elif isinstance(step, str):
                self.trickle()
            else:
                content = step.content()
                self.send_response(step.status)
                for name, value in (step.headers or {}).items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        def trickle(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.close_connection = True
            try:
                while not stub.released.wait(0.01):
                    self.wfile.write(b" ")
                    self.wfile.flush()
            except OSError:
                pass

        do_GET = do_POST = do_PUT = do_DELETE = answer

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler
