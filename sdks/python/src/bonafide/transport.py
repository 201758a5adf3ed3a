"""
Sends the requests of all resources: credentials, idempotency keys, time limits, retries and errors. It logs nothing,
stores nothing, and sends the credentials to no other address than `base_url`.
"""

from __future__ import annotations

import base64
import json
import math
import os
import re
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar, cast
from urllib.parse import quote, urlencode, urlsplit

import httpx

from ._version import VERSION
from .errors import ApiError, BonafideError, ConnectionError, TimeoutError, error_of
from .generated.endpoints import ENDPOINTS, Endpoint, Operation
from .options import RateLimit, ResponseInfo
from .pages import Pages
from .retry import delay_before_retry, is_lost

Model = TypeVar("Model")
Item = TypeVar("Item")
Page = TypeVar("Page")
Arguments = Mapping[str, Any]
Form = list[tuple[str, tuple["str | None", "str | bytes"]]]

REPEATABLE_POSTS: frozenset[Operation] = frozenset(
    (
        "decideAttempt",
        "eraseApplicant",
        "exportApplicant",
        "matchEntities",
        "revokeInvitation",
        "revokeSessionLink",
    )
)
"""POST requests without an idempotency key that change nothing if they are repeated."""
LONGEST_TIMEOUT = 86_400.0
OPTIONS = ("timeout", "max_retries")


class Transport:
    def __init__(
        self,
        base_url: str,
        api_key: str,
        secret: str,
        *,
        timeout: float,
        max_retries: int,
        http_client: httpx.Client | None,
        on_response: Callable[[ResponseInfo], None] | None,
    ) -> None:
        self._base_url = _checked_base_url(base_url)
        self._authorization = _authorization(api_key, secret)
        self._timeout = _checked_timeout(timeout)
        self._max_retries = _checked_retries(max_retries)
        self._on_response = on_response
        self._owns_client = http_client is None
        self._http = http_client or httpx.Client()

    def close(self) -> None:
        """Closes the connections, but not those of a client that the caller gave."""
        if self._owns_client:
            self._http.close()

    def json(self, model: type[Model], operation: Operation, arguments: Arguments) -> Model:
        """Carries out an operation and returns the JSON of its response, which `model` types but does not check."""
        content = self.content(operation, arguments)
        try:
            return cast(Model, json.loads(content))
        except (ValueError, RecursionError) as error:
            text = "The response is not JSON: check that base_url leads to a Bonafide server"
            raise BonafideError(text) from error

    def pages(
        self, item: type[Item], page: type[Page], operation: Operation, member: str, filter: Arguments
    ) -> Pages[Item, Page]:
        """A list whose pages have their entries in `member`, and in `next` the `before` of the next page."""
        _sorted(operation, filter)

        def load(cursor: str | None) -> Page:
            return self.json(page, operation, filter if cursor is None else {**filter, "before": cursor})

        return Pages(load, lambda one: cast(Any, one)[member], lambda one: cast(Any, one).get("next"))

    def text(self, operation: Operation, arguments: Arguments) -> str:
        """Carries out an operation and returns the text of its response."""
        return self.content(operation, arguments).decode("utf-8", "replace")

    def content(self, operation: Operation, arguments: Arguments) -> bytes:
        """Carries out an operation, repeats it if that is safe and useful, and returns the bytes of its response."""
        endpoint, path, query, body = _sorted(operation, arguments)
        timeout = _checked_timeout(arguments.get("timeout", self._timeout))
        max_retries = _checked_retries(arguments.get("max_retries", self._max_retries))
        url = self._base_url + _path(endpoint.path, path) + _query(query)
        headers = self._headers(endpoint, arguments)
        form = _form(body, endpoint.files) if endpoint.is_form else None
        content = None
        if form is None and endpoint.body:
            headers["content-type"] = "application/json"
            content = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        # A repeated DELETE would report 404 for the object that the first one deleted.
        is_repeatable = endpoint.method in ("GET", "PUT") or endpoint.takes_key or operation in REPEATABLE_POSTS
        retries = max_retries if is_repeatable else 0
        attempt, was_lost = 1, False
        while True:
            request = self._http.build_request(
                endpoint.method, url, headers=headers, content=content, files=form, timeout=timeout
            )
            try:
                return self._attempt(operation, attempt, request, timeout)
            except (ApiError, ConnectionError) as error:
                delay = delay_before_retry(error, attempt, was_lost)
                if attempt > retries or delay is None:
                    raise
                was_lost = was_lost or is_lost(error)
            time.sleep(delay)
            attempt += 1

    def _headers(self, endpoint: Endpoint, arguments: Arguments) -> dict[str, str]:
        headers = {
            "accept": "application/json, */*",
            "authorization": self._authorization,
            "user-agent": f"bonafide-python/{VERSION}",
        }
        if endpoint.takes_key:
            key = arguments.get("idempotency_key")
            headers["idempotency-key"] = str(uuid.uuid4()) if key is None else _checked_key(key)
        return headers

    def _attempt(self, operation: Operation, attempt: int, request: httpx.Request, timeout: float) -> bytes:
        """One attempt, from the request to the last byte of the response."""
        started = time.monotonic()
        chunks: list[bytes] = []
        try:
            response = self._http.send(request, stream=True, auth=None, follow_redirects=False)
            try:
                # httpx limits each wait, and not their sum.
                for chunk in response.iter_bytes():
                    chunks.append(chunk)
                    if time.monotonic() - started > timeout:
                        raise httpx.ReadTimeout("", request=request)
            finally:
                response.close()
        except httpx.TimeoutException as error:
            raise TimeoutError(f"No response within {timeout:g} seconds") from error
        except httpx.RequestError as error:
            raise ConnectionError(f"No response: {str(error) or type(error).__name__}") from error
        content = b"".join(chunks)
        if self._on_response:
            self._on_response(_info(operation, attempt, response, time.monotonic() - started))
        if not response.is_success:
            raise error_of(response, content)
        return content


def _sorted(operation: Operation, arguments: Arguments) -> tuple[Endpoint, Arguments, Arguments, Arguments]:
    """The arguments in the path, the query and the body, under their names in the API."""
    endpoint = ENDPOINTS[operation]
    options = (*OPTIONS, "idempotency_key") if endpoint.takes_key else OPTIONS
    for name in arguments:
        if not (name in endpoint.path_names or name in endpoint.query or name in endpoint.body or name in options):
            raise TypeError(f"unexpected argument {name!r}")
    path, query, body = (
        {names[name]: value for name, value in arguments.items() if name in names}
        for names in (endpoint.path_names, endpoint.query, endpoint.body)
    )
    return endpoint, path, query, body


def _checked_base_url(text: str) -> str:
    try:
        url = urlsplit(text)
        is_valid = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except (ValueError, AttributeError, TypeError):
        is_valid = False
    if not is_valid or url.query or url.fragment or url.username is not None or re.search(r"[^!-~]|[?#]", text):
        raise ValueError("base_url must be the http or https address of the server, such as https://verify.example.com")
    return text.rstrip("/")


def _authorization(api_key: str, secret: str) -> str:
    for value in (api_key, secret):
        if not isinstance(value, str):
            raise TypeError("api_key and secret must be texts")
    if not re.fullmatch(r"[!-9;-~]+", api_key):
        raise ValueError("api_key must be an API key: bf_live_… or bf_test_…")
    if not re.fullmatch(r"[!-~]+", secret):
        raise ValueError("secret must be the secret of the API key")
    return "Basic " + base64.b64encode(f"{api_key}:{secret}".encode()).decode()


def _checked_timeout(seconds: float) -> float:
    if isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and 0 < seconds <= LONGEST_TIMEOUT:
        return float(seconds)
    raise ValueError(f"timeout must be a number of seconds above 0 and up to {LONGEST_TIMEOUT:g}")


def _checked_retries(count: int) -> int:
    if isinstance(count, int) and not isinstance(count, bool) and count >= 0:
        return count
    raise ValueError("max_retries must be a whole number from 0")


def _checked_key(key: str) -> str:
    if isinstance(key, str) and re.fullmatch(r"[ -~]{1,255}", key):
        return key
    raise ValueError("idempotency_key must be 1 to 255 printable ASCII characters")


def _path(template: str, values: Arguments) -> str:
    """The path with its parameters. A URL would drop empty segments and those of dots, and so name another object."""

    def one(match: re.Match[str]) -> str:
        value = values.get(match[1])
        text = str(value) if isinstance(value, (int, uuid.UUID)) and not isinstance(value, bool) else value
        if not isinstance(text, str) or text in ("", ".", ".."):
            raise ValueError(f"{match[1]} must be an id")
        return quote(text, safe="")

    return re.sub(r"\{(\w+)\}", one, template)


def _query(values: Arguments) -> str:
    pairs = [
        (name, _scalar(name, one))
        for name, value in values.items()
        for one in (value if isinstance(value, Sequence) and not isinstance(value, str) else [value])
        if one is not None
    ]
    return f"?{urlencode(pairs)}" if pairs else ""


def _scalar(name: str, value: object) -> str:
    """A value of a query or a form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{name} must have a time zone, such as datetime.now(timezone.utc)")
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number")
    if isinstance(value, (str, int, float, uuid.UUID)):
        return str(value)
    raise TypeError(f"{name} must be a text or a number, not {type(value).__name__}")


def _form(values: Arguments, files: frozenset[str]) -> Form:
    form: Form = []
    for name, value in values.items():
        if value is None:
            continue
        if name in files:
            form.append((name, (name, _file(name, value))))
        elif isinstance(value, (list, tuple)):
            form.append((name, (None, ",".join(_scalar(name, one) for one in value))))
        else:
            form.append((name, (None, _scalar(name, value))))
    return form


def _file(name: str, value: object) -> bytes:
    """The bytes of a file, which the caller may change before a retry."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, os.PathLike):
        with open(value, "rb") as file:
            return file.read()
    read = getattr(value, "read", None)
    content = read() if callable(read) else None
    if isinstance(content, bytes):
        return content
    raise TypeError(f'{name} must be bytes, a file opened in binary mode, or a path such as Path("{name}.jpg")')


def _info(operation: Operation, attempt: int, response: httpx.Response, duration: float) -> ResponseInfo:
    headers = response.headers

    def number(name: str) -> int:
        text = headers.get(f"ratelimit-{name}", "")
        return int(text) if re.fullmatch(r"[0-9]{1,12}", text) else 0

    return ResponseInfo(
        operation=operation,
        status=response.status_code,
        request_id=headers.get("x-request-id"),
        is_replayed=headers.get("idempotency-replayed") == "true",
        attempt=attempt,
        duration_seconds=duration,
        rate_limit=RateLimit(number("limit"), number("remaining"), number("reset"))
        if "ratelimit-limit" in headers
        else None,
    )
