"""Which failures are worth another attempt, and after which delay. It knows neither the network nor the time."""

from __future__ import annotations

import random as _random
from collections.abc import Callable

from .errors import ApiError, ConflictError, ConnectionError

FIRST_DELAY = 0.5
LONGEST_DELAY = 8.0
LONGEST_RETRY_AFTER = 30
"""A longer `Retry-After` is the caller's to wait for."""
REPEATABLE = (429, 502, 503, 504)


def is_lost(error: Exception) -> bool:
    """Whether the server may have processed an attempt whose response did not arrive."""
    return isinstance(error, ConnectionError) or (isinstance(error, ApiError) and error.status in (502, 504))


def delay_before_retry(
    error: Exception, attempts: int, was_lost: bool, random: Callable[[], float] = _random.random
) -> float | None:
    """
    The delay before the next attempt in seconds, with full jitter, or None if there should be none. It is only for
    requests that are safe to repeat. `attempts` have failed, this one included; `was_lost` states whether an earlier
    one may have reached the server without a response.
    """
    backoff = random() * min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** min(attempts - 1, 10))
    if isinstance(error, ConnectionError):
        return backoff
    if not isinstance(error, ApiError):
        return None
    # The server is still processing the lost attempt; its response follows under the same idempotency key.
    if isinstance(error, ConflictError) and was_lost:
        return backoff
    if error.status not in REPEATABLE:
        return None
    wait = error.retry_after_seconds or 0
    return None if wait > LONGEST_RETRY_AFTER else wait + backoff
