"""The client of a Bonafide server: identity verification, screening and signed webhooks."""

from ._version import VERSION
from .client import Bonafide
from .errors import (
    ApiError,
    AuthenticationError,
    BonafideError,
    ConflictError,
    ConnectionError,
    Fault,
    InvalidRequestError,
    NotFoundError,
    PermissionError,
    RateLimitError,
    ServerError,
    TimeoutError,
    WebhookFailure,
    WebhookVerificationError,
)
from .options import RateLimit, ResponseInfo
from .pages import Pages
from .webhooks import (
    TestEvent,
    VerificationEvent,
    VerificationEventData,
    WebhookEvent,
    WebhookHeaders,
    verify_webhook,
)

__all__ = [
    "VERSION",
    "ApiError",
    "AuthenticationError",
    "Bonafide",
    "BonafideError",
    "ConflictError",
    "ConnectionError",
    "Fault",
    "InvalidRequestError",
    "NotFoundError",
    "Pages",
    "PermissionError",
    "RateLimit",
    "RateLimitError",
    "ResponseInfo",
    "ServerError",
    "TestEvent",
    "TimeoutError",
    "VerificationEvent",
    "VerificationEventData",
    "WebhookEvent",
    "WebhookFailure",
    "WebhookHeaders",
    "WebhookVerificationError",
    "verify_webhook",
]
