"""The errors of this package, and how a response of the server becomes one. Errors never contain credentials."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Literal

import httpx


@dataclass(frozen=True)
class Fault:
    """A fault of a request."""

    field: str | None
    """The field or parameter, if the server names one."""
    message: str
    """What is wrong, as the server states it."""


class BonafideError(Exception):
    """The base class of all errors of this package, except `TypeError` and `ValueError` for a wrong argument."""


class ConnectionError(BonafideError):
    """There was no complete response: the server cannot be reached, or the connection was lost."""


class TimeoutError(ConnectionError):
    """The response took longer than `timeout`."""


class ApiError(BonafideError):
    """The server refused the request, or could not process it."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        faults: tuple[Fault, ...] = (),
        request_id: str | None = None,
        retry_after_seconds: int | None = None,
        body: object = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status."""
        self.message = message
        self.code = code
        """A word for programs, such as `invalid_credentials`. Only links, sessions and invitations have one."""
        self.faults = faults
        """What is wrong, one entry per fault. Empty if the server names no single fault."""
        self.request_id = request_id
        """The id by which the operator finds the request in the log."""
        self.retry_after_seconds = retry_after_seconds
        """After how many seconds to try again, if the server states it."""
        self.body = body
        """The body as the server sent it: parsed JSON, otherwise text."""

    @property
    def field(self) -> str | None:
        """The field of the first fault that names one."""
        return next((fault.field for fault in self.faults if fault.field is not None), None)

    def __reduce__(self) -> tuple[object, ...]:
        # The arguments of an exception are lost when it is pickled, for example by a process pool.
        return _restored, (type(self), self.status, self.message, self.__dict__)


def _restored(kind: type[ApiError], status: int, message: str, state: dict[str, object]) -> ApiError:
    error = kind(status, message)
    error.__dict__.update(state)
    return error


class InvalidRequestError(ApiError):
    """The request must be changed: 400, 405, 408, 410, 413 and 422, and 501 for an unsupported document."""


class AuthenticationError(ApiError):
    """API key or secret are missing or wrong: 401, and the 400 of Groups, Flows, links and sessions."""


class PermissionError(ApiError):
    """403: the account or the key may not do this, or a jurisdiction is restricted."""


class NotFoundError(ApiError):
    """404: no such object exists in the account and mode of the key."""


class ConflictError(ApiError):
    """409: a name is taken, the state does not permit the action, or the same idempotent request is still running."""


class RateLimitError(ApiError):
    """429: too many requests. See `retry_after_seconds`."""


class ServerError(ApiError):
    """5xx: the server or a source of it failed or is busy. The result is unknown; never treat it as "not found"."""


WebhookFailure = Literal["missing_header", "invalid_timestamp", "too_old", "too_new", "no_match", "not_an_event"]


class WebhookVerificationError(BonafideError):
    """A webhook message is not authentic, or is outside the time window. Answer it with 400."""

    def __init__(self, reason: WebhookFailure, message: str) -> None:
        super().__init__(reason, message)
        self.reason = reason
        """Why the message was refused."""
        self.message = message

    def __str__(self) -> str:
        return self.message


_WRONG_CREDENTIALS = "Invalid API key/secret combination"
_NAMED_FAULT = re.compile(r"([a-z][\w.\[\]]*|Idempotency-Key)(?: - | (?=cannot |file |is required|required))", re.ASCII)
_CLASSES: dict[int, type[ApiError]] = {
    401: AuthenticationError,
    403: PermissionError,
    404: NotFoundError,
    409: ConflictError,
    429: RateLimitError,
    501: InvalidRequestError,
}


def error_of(response: httpx.Response, content: bytes) -> ApiError:
    """The error for a response that is not a success."""
    body = _parsed(content)
    status = response.status_code
    members = body if isinstance(body, dict) else {}
    faults = _faults(members)
    texts = (_text(members, name) for name in ("message", "description", "detail"))
    sent = next((text for text in texts if text is not None), None)
    word = _text(members, "error")
    summary = sent or word or ("Validation failed" if faults else _unexpected(response))
    listed = [f"{f.field}: {f.message}" if f.field and f.field not in f.message else f.message for f in faults]
    # A 401 has `error` without a message: then it is a sentence and not a word.
    code = None if sent is None else word
    kind = _CLASSES.get(status)
    if code == "invalid_credentials" or (status == 400 and sent == _WRONG_CREDENTIALS):
        kind = AuthenticationError
    if kind is None:
        kind = ServerError if status >= 500 else InvalidRequestError if status >= 400 else ApiError
    return kind(
        status,
        f"{summary}: {'; '.join(listed)}" if listed else summary,
        code=code,
        faults=faults,
        request_id=response.headers.get("x-request-id"),
        retry_after_seconds=retry_after_seconds_of(response.headers.get("retry-after")),
        body=body,
    )


def retry_after_seconds_of(value: str | None, now: datetime | None = None) -> int | None:
    """The value of `Retry-After` in seconds. The server sends seconds; a proxy may send a date."""
    text = (value or "").strip()
    # Python refuses to convert thousands of digits.
    if re.fullmatch(r"[0-9]{1,12}", text):
        return int(text)
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=timezone.utc)
    return max(0, math.ceil((date - (now or datetime.now(timezone.utc))).total_seconds()))


def _unexpected(response: httpx.Response) -> str:
    """The text for a response that this server does not send, such as that of a proxy."""
    status, location = response.status_code, response.headers.get("location")
    if status < 400 and location is not None:
        return f"The server redirects to {location}: correct base_url"
    return f"Unexpected response with status {status}: check that base_url leads to a Bonafide server"


def _faults(members: dict[str, object]) -> tuple[Fault, ...]:
    errors, detail = members.get("errors"), members.get("detail")
    if isinstance(errors, list):
        return tuple(_fault(str(error)) for error in errors)
    if not isinstance(detail, list):
        return ()
    found = []
    for fault in detail:
        if isinstance(fault, dict):
            place = fault.get("loc")
            field = ".".join(map(str, place)) if isinstance(place, list) and place else None
            found.append(Fault(field, str(fault.get("msg"))))
    return tuple(found)


def _fault(text: str) -> Fault:
    """A fault such as `query - query contains invalid characters`, `firstName cannot be empty` or `dob is required`."""
    named = _NAMED_FAULT.match(text)
    return Fault(named[1] if named else None, text)


def _parsed(content: bytes) -> object:
    text = content.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _text(members: dict[str, object], name: str) -> str | None:
    value = members.get(name)
    return value if isinstance(value, str) else None
