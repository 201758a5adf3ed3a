"""Options of single calls, which every method takes as keyword arguments, and what `on_response` receives."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from .generated.endpoints import Operation

if sys.version_info >= (3, 11):
    from typing import TypedDict
else:
    from typing_extensions import TypedDict


class RequestOptions(TypedDict, total=False):
    """Options of one call."""

    timeout: float
    """Replaces the client's `timeout`."""
    max_retries: int
    """Replaces the client's `max_retries`."""


class IdempotentRequestOptions(RequestOptions, total=False):
    """Options of a call that the server carries out once per idempotency key."""

    idempotency_key: str
    """
    1–255 printable ASCII characters; by default a random key for each call, which its retries share. Give your own,
    for example the id of your job, if your program may repeat the call.
    """


@dataclass(frozen=True)
class RateLimit:
    """The rate limit of an endpoint."""

    limit: int
    remaining: int
    reset_seconds: int


@dataclass(frozen=True)
class ResponseInfo:
    """What `on_response` receives. It contains no personal data."""

    operation: Operation
    status: int
    request_id: str | None
    is_replayed: bool
    """Whether the server repeated the response to an earlier request with the same idempotency key."""
    attempt: int
    """1 for the first attempt."""
    duration_seconds: float
    rate_limit: RateLimit | None
    """The rate limit, if the endpoint has one."""
