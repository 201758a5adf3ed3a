"""Verification of webhook messages: the published vector, messages signed by the specification, and forgeries."""

from __future__ import annotations

import base64
import email
import hashlib
import hmac
import json

import pytest
from bonafide import WebhookVerificationError, verify_webhook

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDPPRjs4iDDZQ="
AT = 1_795_255_200
BODY = json.dumps(
    {
        "type": "verification.completed",
        "timestamp": "2026-11-21T10:00:00.000Z",
        "data": {"externalUserId": "usér-1", "status": "approved", "success": True, "codes": [], "sequence": 1},
    },
    ensure_ascii=False,
)


def signed(*secrets: str, body: str = BODY, at: int = AT) -> dict[str, str]:
    signatures = []
    for secret in secrets:
        key = base64.b64decode(secret.removeprefix("whsec_"))
        digest = hmac.new(key, f"evt_1.{at}.{body}".encode(), hashlib.sha256).digest()
        signatures.append("v1," + base64.b64encode(digest).decode())
    return {"webhook-id": "evt_1", "webhook-timestamp": str(at), "webhook-signature": " ".join(signatures)}


def refused(
    reason: str, headers: dict[str, str], body: str = BODY, secrets: str | list[str] = SECRET, now: float = AT
) -> None:
    with pytest.raises(WebhookVerificationError) as caught:
        verify_webhook(body, headers, secrets, now=now)
    assert caught.value.reason == reason


def test_the_published_vector_of_standard_webhooks_has_a_valid_signature() -> None:
    # Its body is not an event of Bonafide, which is found only after the signature was verified.
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    refused("not_an_event", headers, '{"test": 2432232314}', now=1_614_265_330)
    refused("no_match", headers, '{"test": 2432232315}', now=1_614_265_330)


def test_a_signed_event_is_returned_however_its_parts_arrive() -> None:
    headers = signed(SECRET)
    upper = {name.upper(): value for name, value in headers.items()}
    message = email.message_from_string("".join(f"{name}: {value}\n" for name, value in headers.items()))
    lists: dict[str, object] = {name: [value] for name, value in headers.items()}
    for body in (BODY, BODY.encode(), bytearray(BODY.encode())):
        for form in (headers, upper, message, lists, {**headers, "set-cookie": ["a", "b"]}):
            event = verify_webhook(body, form, SECRET, now=AT)
            assert event["id"] == "evt_1"
            assert event["type"] != "webhook.test" and event["data"]["externalUserId"] == "usér-1"


def test_either_of_two_signatures_and_any_of_several_secrets_counts() -> None:
    verify_webhook(BODY, signed(OTHER, SECRET), SECRET, now=AT)
    verify_webhook(BODY, signed(SECRET, OTHER), SECRET, now=AT)
    verify_webhook(BODY, signed(SECRET), [OTHER, SECRET], now=AT)
    refused("no_match", signed(OTHER))


def test_a_changed_body_id_or_time_is_refused() -> None:
    headers = signed(SECRET)
    refused("no_match", headers, f"{BODY} ")
    refused("no_match", {**headers, "webhook-id": "evt_2"})
    refused("no_match", {**headers, "webhook-id": "evt_\udcff"})
    refused("no_match", {**headers, "webhook-timestamp": str(AT + 1)})


def test_signatures_of_other_versions_and_forms_are_refused() -> None:
    headers = signed(SECRET)
    value = headers["webhook-signature"]
    versions = [value.replace("v1,", version) for version in ("v1a,", "v2,", "")]
    for forged in [*versions, "v1,", "v1,!!!!", "v1,AAAA", "v1,é", value[:-6], ","]:
        refused("no_match", {**headers, "webhook-signature": forged})
    refused("no_match", {**headers, "webhook-signature": "v1,AAAA " * 10_000 + value})


def test_a_message_outside_the_time_window_is_refused_at_its_exact_edges() -> None:
    headers = signed(SECRET)
    for seconds in (300, -300, 300.9):
        verify_webhook(BODY, headers, SECRET, now=AT + seconds)
    refused("too_old", headers, now=AT + 301)
    refused("too_new", headers, now=AT - 301)
    verify_webhook(BODY, headers, SECRET, now=AT + 10, tolerance_seconds=10)
    with pytest.raises(WebhookVerificationError, match="The message is 11 seconds old"):
        verify_webhook(BODY, headers, SECRET, now=AT + 11, tolerance_seconds=10)
    with pytest.raises(WebhookVerificationError):
        verify_webhook(BODY, signed(SECRET, at=1), SECRET)


def test_missing_and_malformed_headers_are_refused() -> None:
    headers = signed(SECRET)
    for name in headers:
        refused("missing_header", {**headers, name: ""})
        refused("missing_header", {key: value for key, value in headers.items() if key != name})
        refused("missing_header", {**headers, name.upper(): "twice"})
        with pytest.raises(WebhookVerificationError, match=f"{name} is missing or repeated"):
            verify_webhook(BODY, {**headers, name: ["a", "b"]}, SECRET, now=AT)
    for time in ("x", "1e9", "-5", "1795255200.5", "NaN", "٣", "9" * 30):
        refused("invalid_timestamp", {**headers, "webhook-timestamp": time})


def test_a_signed_body_that_is_not_an_event_is_refused() -> None:
    for body in ("", "null", "[]", "{}", '{"type":"verification.completed"}', "{", "[" * 100_000):
        refused("not_an_event", signed(SECRET, body=body), body)


def test_a_wrong_setting_is_a_value_error_and_not_a_refused_message() -> None:
    headers = signed(SECRET)
    wrong: list[str | list[str]] = ["", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", "whsec_!", [], [SECRET, "x"]]
    for secrets in wrong:
        with pytest.raises(ValueError):
            verify_webhook(BODY, headers, secrets, now=AT)
    with pytest.raises(ValueError):
        verify_webhook(BODY, headers, SECRET, now=AT, tolerance_seconds=float("nan"))
