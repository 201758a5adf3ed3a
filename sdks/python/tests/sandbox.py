"""
A sandbox server for tests: `bonafide serve --demo` in a temporary folder on a free port, its command line, a receiver
of webhooks, and what an applicant's browser does with a link. It starts nothing but the program under test.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import httpx

SDK = Path(__file__).resolve().parent.parent
ROOT = SDK.parent.parent
PROGRAM = os.environ.get("BONAFIDE_PROGRAM") or str(ROOT / "target/debug/bonafide")
SPECIMENS = ROOT / "specimens"
START_WITHIN = 180
WAIT_WITHIN = 120

T = TypeVar("T")


def specimen(name: str) -> Path:
    """The path of a rendered specimen."""
    return SPECIMENS / f"{name}.jpg"


def until(check: Callable[[], T | None], within: float = WAIT_WITHIN) -> T:
    """Repeats a check until it returns something."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        found = check()
        if found is not None:
            return found
        time.sleep(0.02)
    raise AssertionError(f"the condition was not met within {within} s")


@dataclass
class Sandbox:
    data: Path
    demo: dict[str, Any]

    @property
    def base_url(self) -> str:
        return str(self.demo["baseUrl"])

    @property
    def credentials(self) -> dict[str, str]:
        return {"base_url": self.base_url, "api_key": self.demo["apiKey"], "secret": self.demo["secret"]}

    def flow(self, name: str) -> str:
        return str(self.demo["flows"][name])

    def cli(self, *arguments: str) -> str:
        """Runs a command on the demo account's sandbox."""
        return self._run(*arguments, "--merchant", self.demo["merchantId"], "--sandbox")

    def owner(self) -> str:
        """The path by which a new owner of the account joins the portal."""
        invited = self._run("portal", "invite", "--merchant", self.demo["merchantId"], "--role", "owner", "--json")
        return urlsplit(str(json.loads(invited)["link"])).path

    def _run(self, *arguments: str) -> str:
        command = [PROGRAM, *arguments, "--data", str(self.data)]
        return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


@contextmanager
def sandbox(*more: str) -> Iterator[Sandbox]:
    """Runs a server."""
    with tempfile.TemporaryDirectory(prefix="bonafide-sdk-") as folder:
        data, log = Path(folder, "data"), Path(folder, "log")
        command = [PROGRAM, "serve", "--demo", "--data", str(data), "--listen", "127.0.0.1:0", "--specimens",
                   str(SPECIMENS), "--models", str(ROOT / "models"), "--engines-on-demand", *more]  # fmt: skip
        with log.open("wb") as output:
            server = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
        try:

            def started() -> dict[str, Any] | None:
                if server.poll() is not None:
                    raise AssertionError(f"the server stopped:\n{log.read_text()}")
                file = data / "demo.json"
                text = file.read_text() if file.exists() else ""
                return json.loads(text) if text.endswith("}") or text.endswith("}\n") else None

            yield Sandbox(data, until(started, START_WITHIN))
        finally:
            server.terminate()
            server.wait(60)


@dataclass
class Received:
    """A webhook message as it arrived."""

    headers: Message
    body: bytes


@contextmanager
def receiver() -> Iterator[tuple[str, list[Received]]]:
    """Listens for webhooks. It returns its address, and the list of the messages."""
    messages: list[Received] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            messages.append(Received(self.headers, body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/webhook", messages
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def example(environment: dict[str, str]) -> Iterator[tuple[str, Callable[[], str]]]:
    """Runs examples/merchant.py. It returns its address, and a function that returns its output."""
    with tempfile.TemporaryDirectory(prefix="bonafide-example-") as folder:
        log = Path(folder, "log")
        variables = {**os.environ, **environment, "PORT": "0", "PYTHONPATH": str(SDK / "src")}
        with log.open("wb") as output:
            child = subprocess.Popen(
                [sys.executable, str(SDK / "examples/merchant.py")],
                env=variables,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:

            def listening() -> str | None:
                if child.poll() is not None:
                    raise AssertionError(f"the example stopped:\n{log.read_text()}")
                first, ended, _ = log.read_text().partition("\n")
                return first.rsplit(" ", 1)[-1] if ended else None

            yield f"http://127.0.0.1:{until(listening)}", log.read_text
        finally:
            child.terminate()
            child.wait(10)


def exchange(base_url: str, link: str) -> dict[str, str]:
    """What the hosted page does when the applicant begins."""
    token = parse_qs(urlsplit(link).query)["token"][0]
    response = httpx.post(f"{base_url}/v2/sdk/session/exchange", json={"token": token})
    assert response.is_success, response.text
    return dict(response.json())


def use_link(base_url: str, link: str, form: dict[str, str]) -> str:
    """What the hosted page does for an applicant who submits at once. It returns the session's id."""
    session = exchange(base_url, link)
    fields = {"flowId": session["flowId"], "externalUserId": session["userId"], **form}
    response = httpx.post(
        f"{base_url}/v2/idv/verify",
        headers={"authorization": f"Bearer {session['access_token']}"},
        files={name: (None, value) for name, value in fields.items()},
        timeout=WAIT_WITHIN,
    )
    assert response.is_success, response.text
    return session["session_id"]
