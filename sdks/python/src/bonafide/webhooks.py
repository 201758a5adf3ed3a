"""
Verification of webhook messages by Standard Webhooks 1.0.0. The comparison of signatures takes the same time for every
signature. It never parses a body whose signature it has not verified, and does not detect repetitions.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Literal, Protocol, Union, cast

from .errors import WebhookVerificationError
from .words import AttemptStatus

if sys.version_info >= (3, 11):
    from typing import TypedDict
else:
    from typing_extensions import TypedDict

DEFAULT_TOLERANCE_SECONDS = 300
MAX_SIGNATURES = 16
"""A message has one signature, or two during a rotation."""


class VerificationEventData(TypedDict):
    """What an event about a verification contains."""

    externalUserId: str
    groupingId: str | None
    flowId: str
    sessionId: str | None
    facemapId: str | None
    logId: int
    """The number of the attempt in the account and mode."""
    sequence: int
    """Counts the events of one registration. Events may arrive in another order."""
    status: AttemptStatus
    success: bool
    codes: list[int]
    """Failure codes."""
    isSandbox: bool


class TestEventData(TypedDict):
    flowId: str
    isSandbox: bool


class VerificationEvent(TypedDict):
    """An event about a verification."""

    id: str
    """The id of the event, the same in every delivery: use it to drop repetitions."""
    type: Literal[
        "verification.completed",
        "verification.review_required",
        "verification.review_decided",
        "verification.rescreened",
    ]
    timestamp: str
    """ISO 8601, UTC."""
    data: VerificationEventData


class TestEvent(TypedDict):
    """A test message, which a person or a command requested."""

    id: str
    type: Literal["webhook.test"]
    timestamp: str
    data: TestEventData


WebhookEvent = Union[VerificationEvent, TestEvent]
"""A verified message. Check its `type`."""


class WebhookHeaders(Protocol):
    """The headers of the request: a dictionary, or those of http.server, Django, Flask, Starlette and others."""

    def items(self) -> Iterable[tuple[str, object]]: ...


def verify_webhook(
    raw_body: str | bytes | bytearray,
    headers: WebhookHeaders,
    secrets: str | Sequence[str],
    *,
    tolerance_seconds: float = DEFAULT_TOLERANCE_SECONDS,
    now: float | None = None,
) -> WebhookEvent:
    """
    Verifies a message and returns its event. Pass the body exactly as it arrived, before any JSON parser. Pass several
    secrets if the messages of several Flows arrive at one address, or during a rotation.

    The message's time may be `tolerance_seconds` from `now` (by default the current time) in either direction. If the
    message is not authentic or outside that window, it raises `WebhookVerificationError`: answer with 400. If a secret
    is not `whsec_…`, it raises `ValueError`.
    """
    keys = [_key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    if not keys:
        raise ValueError("secrets must contain at least one secret")
    message_id = _header(headers, "webhook-id")
    timestamp = _header(headers, "webhook-timestamp")
    signatures = _header(headers, "webhook-signature")
    _check_time(timestamp, tolerance_seconds, time.time() if now is None else now)

    body = raw_body.encode() if isinstance(raw_body, str) else bytes(raw_body)
    # Some frameworks decode headers as Latin-1; a character beyond it is in no authentic message.
    signed = f"{message_id}.{timestamp}.".encode("utf-8", "surrogateescape") + body
    if not _is_signed(signed, signatures, keys):
        text = "No signature of the message matches a secret and the body as it arrived"
        raise WebhookVerificationError("no_match", text)
    return _event(message_id, body)


def _header(headers: WebhookHeaders, name: str) -> str:
    found: list[object] = []
    for key, value in headers.items():
        if key.lower() == name:
            found += value if isinstance(value, (list, tuple)) else [value]
    if len(found) != 1 or not isinstance(found[0], str) or not found[0]:
        raise WebhookVerificationError("missing_header", f"The header {name} is missing or repeated")
    return found[0]


def _check_time(timestamp: str, tolerance_seconds: float, now: float) -> None:
    if not tolerance_seconds >= 0:
        raise ValueError("tolerance_seconds must be a number from 0")
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        text = "The header webhook-timestamp is not a time in seconds"
        raise WebhookVerificationError("invalid_timestamp", text)
    age = int(now // 1) - int(timestamp)
    if age > tolerance_seconds:
        raise WebhookVerificationError("too_old", f"The message is {age} seconds old")
    if -age > tolerance_seconds:
        raise WebhookVerificationError("too_new", f"The message is {-age} seconds in the future")


def _is_signed(signed: bytes, header: str, keys: list[bytes]) -> bool:
    parts = [part[3:] for part in header.split(" ", MAX_SIGNATURES)[:MAX_SIGNATURES] if part.startswith("v1,")]
    signatures = [signature for part in parts if (signature := _from_base64(part)) is not None]
    digests = [hmac.new(key, signed, hashlib.sha256).digest() for key in keys]
    return any(hmac.compare_digest(digest, signature) for digest in digests for signature in signatures)


def _event(message_id: str, body: bytes) -> WebhookEvent:
    try:
        message = json.loads(body)
        kind, timestamp, data = message["type"], message["timestamp"], message["data"]
        if isinstance(kind, str) and isinstance(timestamp, str) and isinstance(data, dict):
            event = {"id": message_id, "type": kind, "timestamp": timestamp, "data": data}
            return cast(WebhookEvent, event)
    except (ValueError, TypeError, KeyError, RecursionError):
        pass  # Reported below.
    raise WebhookVerificationError("not_an_event", "The message is signed, but it is not an event of Bonafide")


def _key(secret: str) -> bytes:
    has_prefix = isinstance(secret, str) and secret.startswith("whsec_")
    key = _from_base64(secret[len("whsec_") :]) if has_prefix else None
    if not key:
        raise ValueError("A webhook secret must be whsec_ followed by base64")
    return key


def _from_base64(text: str) -> bytes | None:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        return None
