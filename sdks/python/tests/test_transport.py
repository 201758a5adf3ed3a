"""Requests, retries, time limits and errors, against a local server that fails as a network or a server would."""

from __future__ import annotations

import base64
import copy
import io
import json
import pickle
import re
import socket
import traceback
import uuid
from collections.abc import Callable
from datetime import datetime, timezone
from email.message import Message
from email.parser import BytesParser
from pathlib import Path
from typing import Any, cast

import bonafide
import httpx
import pytest
from bonafide import ApiError, Bonafide, BonafideError, ResponseInfo
from bonafide.errors import retry_after_seconds_of
from bonafide.retry import delay_before_retry
from stub import Answer, Step, Stub

SDK = Path(__file__).resolve().parent.parent
OK = Answer(200, {"groups": []})


def form_of(headers: Message, body: bytes) -> dict[str, Message]:
    content = b"content-type: " + headers["content-type"].encode() + b"\r\n\r\n" + body
    parts = cast("list[Message]", BytesParser().parsebytes(content).get_payload())
    return {cast(str, part.get_param("name", header="content-disposition")): part for part in parts}


def test_a_request_has_the_address_the_credentials_and_the_body_of_its_operation(stub: Stub, tmp_path: Path) -> None:
    client = stub.client(Answer(200), Answer(200), Answer(200), Answer(200))
    picture = tmp_path / "selfie.jpg"
    picture.write_bytes(b"\xff\xd8path")
    client.verifications.submit(
        flow_id="f", external_user_id="ü", first_name="A", last_name="B", dob=None, ocr_match=True,
        document_types=["PASSPORT", "DRIVERS"], selfie=picture, passport_front=bytearray(b"\x00\x01"),
        drivers_front=io.BytesIO(b"file"),
    )  # fmt: skip
    client.applicants.resolve("../a b&c")
    client.lists.match({"q": {"schema": "Person", "properties": {}}}, topics=["sanction", "role.pep"], limit=3)
    client.links.create(user_id="ü", group_id="g", flow_id="f", expected={"firstName": "A", "lastName": "B"})
    verify, resolve, match, link = stub.sent
    assert (verify.method, verify.target) == ("POST", "/base/v2/idv/verify")
    assert verify.headers["authorization"] == "Basic " + base64.b64encode(b"bf_test_a:s3cret").decode()
    assert verify.headers["user-agent"] == f"bonafide-python/{bonafide.VERSION}"
    assert re.fullmatch("[0-9a-f-]{36}", verify.headers["idempotency-key"])
    form = form_of(verify.headers, verify.body)
    content = {name: part.get_payload(decode=True) for name, part in form.items()}
    assert content == {
        "flowId": b"f", "externalUserId": "ü".encode(), "firstName": b"A", "lastName": b"B", "ocrMatch": b"true",
        "documentTypes": b"PASSPORT,DRIVERS", "selfie": b"\xff\xd8path", "passportFront": b"\x00\x01",
        "driversFront": b"file",
    }  # fmt: skip
    assert [name for name, part in form.items() if part.get_filename()] == ["selfie", "passportFront", "driversFront"]
    assert resolve.query == {"externalUserId": ["../a b&c"]}
    assert resolve.headers["idempotency-key"] is None
    assert match.target == "/base/v2/yente/match/default?topics=sanction&topics=role.pep&limit=3"
    assert match.headers["content-type"] == "application/json"
    assert json.loads(match.body) == {"queries": {"q": {"schema": "Person", "properties": {}}}}
    expected = {"firstName": "A", "lastName": "B"}
    assert json.loads(link.body) == {"userId": "ü", "groupId": "g", "flowId": "f", "expected": expected}


def test_a_form_without_files_is_multipart_too(stub: Stub) -> None:
    client = stub.client(Answer(200))
    client.verifications.submit(flow_id="f", external_user_id="u", first_name="A", last_name="B")
    assert stub.sent[0].headers["content-type"].startswith("multipart/form-data; boundary=")
    assert list(form_of(stub.sent[0].headers, stub.sent[0].body)) == [
        "flowId",
        "externalUserId",
        "firstName",
        "lastName",
    ]


def test_a_filter_may_have_times_and_names_of_python(stub: Stub) -> None:
    page = Answer(200, {"attempts": [], "next": None})
    client = stub.client(page)
    client.attempts.list(
        from_=datetime(2026, 1, 2, tzinfo=timezone.utc), until="2026-02-01T00:00:00Z", status=None
    ).first()
    assert stub.sent[0].query == {"from": ["2026-01-02T00:00:00+00:00"], "until": ["2026-02-01T00:00:00Z"]}
    with pytest.raises(ValueError, match="from must have a time zone"):
        client.attempts.list(from_=datetime(2026, 1, 2)).first()


@pytest.mark.parametrize("step", ["lost", *(Answer(status) for status in (429, 502, 503, 504))])
def test_a_request_that_is_safe_to_repeat_is_repeated(stub: Stub, delays: list[float], step: Step) -> None:
    assert stub.client(step, OK).groups.list() == []
    assert len(stub.sent) == 2 and len(delays) == 1


def test_no_other_status_is_repeated_and_after_max_retries_the_last_error_is_raised(
    stub: Stub, delays: list[float]
) -> None:
    for status in (302, 400, 401, 403, 404, 409, 422, 500, 501):
        client = stub.client(Answer(status))
        with pytest.raises(ApiError) as caught:
            client.groups.list()
        assert (caught.value.status, len(stub.sent)) == (status, 1)
    client = stub.client(Answer(503), Answer(502), Answer(504))
    with pytest.raises(ApiError) as caught:
        client.groups.list()
    assert (caught.value.status, len(stub.sent)) == (504, 3)
    for client, options in (
        (stub.client(Answer(503), max_retries=0), {}),
        (stub.client(Answer(503)), {"max_retries": 0}),
    ):
        stub.steps[:], stub.sent[:] = [Answer(503)], []
        with pytest.raises(bonafide.ServerError):
            client.groups.list(**cast(Any, options))
        assert len(stub.sent) == 1


def test_all_attempts_of_a_call_share_one_idempotency_key_and_each_call_has_its_own(
    stub: Stub, delays: list[float]
) -> None:
    client = stub.client("lost", Answer(503), Answer(200), Answer(200), Answer(200))
    for options in ({}, {}, {"idempotency_key": "job 7"}):
        client.monitoring.screen(type="address", currency="btc", query="a", **cast(Any, options))
    keys = [sent.headers["idempotency-key"] for sent in stub.sent]
    assert len(set(keys[:3])) == 1 and keys[3] != keys[0] and keys[4] == "job 7"


def test_a_file_is_sent_again_in_a_retry(stub: Stub, delays: list[float]) -> None:
    client = stub.client("lost", Answer(200))
    person = {"flow_id": "f", "external_user_id": "u", "first_name": "A", "last_name": "B"}
    client.verifications.submit(**cast(Any, person), selfie=io.BytesIO(b"once"))
    contents = [form_of(sent.headers, sent.body)["selfie"].get_payload(decode=True) for sent in stub.sent]
    assert contents == [b"once", b"once"]


def test_a_post_without_an_idempotency_key_and_a_delete_are_never_repeated(stub: Stub, delays: list[float]) -> None:
    calls: list[Callable[[Bonafide], object]] = [
        lambda client: client.links.create(user_id="u", group_id="g", flow_id="f"),
        lambda client: client.invitations.create(user_id="u", group_id="g", flow_id="f"),
        lambda client: client.invitations.remind("i"),
        lambda client: client.attempts.add_note(1, text="t", reviewer_id="r"),
        lambda client: client.groups.delete("g"),
        lambda client: client.flows.delete("f"),
    ]
    steps: list[Step] = ["lost", Answer(429), Answer(503)]
    for call in calls:
        for step in steps:
            client = stub.client(step)
            with pytest.raises(BonafideError):
                call(client)
            assert len(stub.sent) == 1 and stub.sent[0].headers["idempotency-key"] is None
    # Revoking again and matching again change nothing.
    client = stub.client("lost", Answer(200), Answer(502), Answer(200))
    client.invitations.revoke("i")
    client.lists.match({})
    assert len(stub.sent) == 4


def test_a_409_is_repeated_only_while_the_server_may_still_process_a_lost_attempt(
    stub: Stub, delays: list[float]
) -> None:
    client = stub.client("lost", Answer(409), Answer(201, {"groupId": "g"}))
    assert client.groups.create(name="g", flow_ids=["f"])["groupId"] == "g"
    client = stub.client(Answer(503), Answer(409))
    with pytest.raises(bonafide.ConflictError):
        client.groups.create(name="g", flow_ids=["f"])


def test_the_delay_has_full_jitter_grows_and_is_at_least_retry_after() -> None:
    def delay(error: Exception, attempts: int, random: float) -> float | None:
        return delay_before_retry(error, attempts, False, lambda: random)

    lost = bonafide.ConnectionError("")
    assert [delay(lost, attempts, 1) for attempts in (1, 2, 3, 9, 5_000)] == [0.5, 1, 2, 8, 8]
    assert delay(lost, 3, 0) == 0
    assert delay(ApiError(503, ""), 2, 0.5) == 0.5
    assert delay(ApiError(429, "", retry_after_seconds=2), 1, 0) == 2
    assert delay(ApiError(429, "", retry_after_seconds=2), 1, 1) == 2.5
    # A longer wait is the caller's decision.
    assert delay(ApiError(429, "", retry_after_seconds=31), 1, 0) is None
    assert delay(ApiError(500, ""), 1, 0) is None
    assert delay(ValueError("a fault of the program"), 1, 0) is None
    now = datetime(2026, 1, 1, tzinfo=timezone.utc)
    values = ["7", "Thu, 01 Jan 2026 00:00:09 GMT", "Thu, 01 Jan 2026 00:00:09 -0000", "soon", "", "9" * 5_000, None]
    assert [retry_after_seconds_of(value, now) for value in values] == [7, 9, 9, None, None, None, None]


def test_the_client_waits_as_long_as_retry_after_states(stub: Stub, delays: list[float]) -> None:
    stub.client(Answer(429, headers={"retry-after": "2"}), OK).groups.list()
    assert len(delays) == 1 and 2 <= delays[0] <= 2.5


@pytest.mark.parametrize("step", ["silent", "trickle"])
def test_an_attempt_that_takes_longer_than_timeout_is_a_timeout_error_and_may_be_repeated(
    stub: Stub, delays: list[float], step: Step
) -> None:
    stub.client(step, OK, timeout=0.1).groups.list()
    assert len(stub.sent) == 2
    with pytest.raises(bonafide.TimeoutError, match=r"No response within 0\.1 seconds"):
        stub.client(step).groups.list(timeout=0.1, max_retries=0)


def test_a_lost_connection_states_its_reason(stub: Stub) -> None:
    with pytest.raises(bonafide.ConnectionError, match="No response: .*without sending a response") as caught:
        stub.client("lost", max_retries=0).groups.list()
    assert not isinstance(caught.value, bonafide.TimeoutError)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(bonafide.ConnectionError, match="Connection refused"):
        stub.client(base_url=f"http://127.0.0.1:{port}", max_retries=0).groups.list()

    def fail(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadError("", request=request)

    with httpx.Client(transport=httpx.MockTransport(fail)) as silent, pytest.raises(bonafide.ConnectionError) as caught:
        stub.client(http_client=silent, max_retries=0).groups.list()
    assert str(caught.value) == "No response: ReadError"


INVALID, BAD_CREDENTIALS = bonafide.InvalidRequestError, "Invalid API key/secret combination"
FAULTS: list[tuple[int, object, type[ApiError], str, str | None, str | None]] = [
    (400, {"message": BAD_CREDENTIALS}, bonafide.AuthenticationError, BAD_CREDENTIALS, None, None),
    (400, {"error": "invalid_credentials", "message": "m"}, bonafide.AuthenticationError, "m", "invalid_credentials",
     None),
    (401, {"error": "Authorization is missing"}, bonafide.AuthenticationError, "Authorization is missing", None, None),
    (401, {"code": 401, "description": "d"}, bonafide.AuthenticationError, "d", None, None),
    (403, {"success": False, "message": "a restricted jurisdiction"}, bonafide.PermissionError,
     "a restricted jurisdiction", None, None),
    (404, {"code": 404, "description": "No applicant"}, bonafide.NotFoundError, "No applicant", None, None),
    (409, {"error": "in_review", "message": "m"}, bonafide.ConflictError, "m", "in_review", None),
    (429, {"error": "rate_limited", "message": "m"}, bonafide.RateLimitError, "m", "rate_limited", None),
    (501, {"success": False, "message": "not yet"}, INVALID, "not yet", None, None),
    (500, {"message": "m"}, bonafide.ServerError, "m", None, None),
    (400, {"message": "Validation failed", "errors": ["a strange fault", "firstName cannot be empty"]}, INVALID,
     "Validation failed: a strange fault; firstName cannot be empty", None, "firstName"),
    (400, {"message": "Validation failed", "errors": ["query - query contains invalid characters"]}, INVALID,
     "Validation failed: query - query contains invalid characters", None, "query"),
    (400, {"message": "Required fields missing", "errors": ["Social Security Number is required"]}, INVALID,
     "Required fields missing: Social Security Number is required", None, None),
    (422, {"detail": [{"type": "value_error", "loc": ["query", "limit"], "msg": "must be a number"}]}, INVALID,
     "Validation failed: query.limit: must be a number", None, "query.limit"),
    (422, {"detail": "nothing to search"}, INVALID, "nothing to search", None, None),
    (502, "<html>", bonafide.ServerError,
     "Unexpected response with status 502: check that base_url leads to a Bonafide server", None, None),
    (502, "[" * 100_000, bonafide.ServerError,
     "Unexpected response with status 502: check that base_url leads to a Bonafide server", None, None),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "kind", "message", "code", "field"), FAULTS)
def test_each_shape_of_an_error_has_its_class_message_code_and_faults(
    stub: Stub, status: int, body: object, kind: type[ApiError], message: str, code: str | None, field: str | None
) -> None:
    client = stub.client(Answer(status, body, {"x-request-id": "r-1", "retry-after": "4"}), max_retries=0)
    with pytest.raises(kind) as caught:
        client.groups.list()
    error = caught.value
    assert type(error) is kind and str(error) == error.message == message
    assert (error.status, error.code, error.field) == (status, code, field)
    assert (error.request_id, error.retry_after_seconds, error.body) == ("r-1", 4, body)
    for same in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(same), str(same), same.faults, same.body) == (kind, message, error.faults, body)


def test_a_redirect_and_a_response_that_is_not_json_name_the_cause(stub: Stub) -> None:
    client = stub.client(Answer(301, "", {"location": "https://v.example/"}), Answer(200, "<html>"))
    with pytest.raises(ApiError, match=r"^The server redirects to https://v\.example/: correct base_url$"):
        client.groups.list()
    with pytest.raises(BonafideError, match="is not JSON: check that base_url"):
        client.groups.list()


def test_wrong_arguments_raise_at_once_and_nothing_is_sent(stub: Stub) -> None:
    for base_url in ("", "v.example", "ftp://v.example", "https://v.example?a=b", "https://u:p@v.example", "http://a b",
                     "https://", "https://v.example#", "http://v.example:x", "http://[::1"):  # fmt: skip
        with pytest.raises(ValueError):
            stub.client(base_url=base_url)
    for credentials in ({"api_key": ""}, {"api_key": "a:b"}, {"secret": ""}, {"secret": "a\nb"}, {"secret": "a\n"}):
        with pytest.raises(ValueError):
            stub.client(**credentials)
    with pytest.raises(TypeError):
        stub.client(secret=None)
    for timeout in (0, -1, float("nan"), float("inf"), True, "5", None):
        with pytest.raises(ValueError):
            stub.client(timeout=timeout)
    for max_retries in (-1, 0.5, float("nan"), True, None):
        with pytest.raises(ValueError):
            stub.client(max_retries=max_retries)
    client = stub.client()
    wrong: Any = client
    values: list[Callable[[], object]] = [
        lambda: client.groups.list(timeout=float("inf")),
        lambda: client.groups.list(max_retries=-1),
        lambda: client.groups.create(name="g", flow_ids=[], idempotency_key="a\nb"),
        lambda: client.groups.create(name="g", flow_ids=[], idempotency_key=""),
        lambda: client.lists.search("a", fuzzy=True, limit=cast(Any, float("nan"))).first(),
        # A URL would shorten these, and DELETE would name another object.
        lambda: client.groups.delete(""),
        lambda: client.groups.delete("."),
        lambda: client.groups.delete(".."),
        lambda: wrong.groups.delete(None),
    ]
    for call in values:
        with pytest.raises(ValueError):
            call()
    person = {"flow_id": "f", "external_user_id": "u", "first_name": "A", "last_name": "B"}
    types: list[Callable[[], object]] = [
        lambda: wrong.verifications.submit(**person, selfie="selfie.jpg"),
        lambda: wrong.verifications.submit(**person, selfie=io.StringIO("a")),
        lambda: wrong.verifications.submit(**person, selfie=7),
        lambda: wrong.verifications.submit(**person, phone={}),
        lambda: wrong.verifications.submit(flowId="f"),
        # A list reports a wrong argument before it is read.
        lambda: wrong.links.list(stat="open"),
        lambda: wrong.links.create(user_id="u", idempotency_key="k"),
    ]
    for call in types:
        with pytest.raises(TypeError):
            call()
    with pytest.raises(FileNotFoundError):
        client.verifications.submit(**cast(Any, person), selfie=Path("no-such-file.jpg"))
    assert stub.sent == []


def test_a_file_is_received_byte_for_byte(stub: Stub) -> None:
    content = b"\xff\xd8\x00\x80\xfe"
    client = stub.client(Answer(200, content), Answer(200, content))
    assert client.attempts.file(7, "selfie") == content
    assert client.applicants.export("p", "r") == content
    assert [(sent.method, sent.path) for sent in stub.sent] == [
        ("GET", "/base/v2/reports/attempts/7/files/selfie"),
        ("POST", "/base/v2/reports/applicants/p/export"),
    ]
    assert json.loads(stub.sent[1].body) == {"reviewerId": "r"}


def test_an_id_cannot_change_the_path(stub: Stub) -> None:
    client = stub.client(Answer(200), Answer(200))
    client.groups.get("a/../b?c#d%2e")
    assert stub.sent[0].target == "/base/v2/public/groups/a%2F..%2Fb%3Fc%23d%252e"
    one = uuid.uuid4()
    client.groups.get(cast(Any, one))
    assert stub.sent[1].target == f"/base/v2/public/groups/{one}"


def test_neither_a_client_nor_an_error_shows_the_secret(stub: Stub) -> None:
    client = stub.client(Answer(401, {"error": "e"}), "lost", max_retries=0)
    shown = [repr(client), str(client)]
    for _ in range(2):
        with pytest.raises(BonafideError) as caught:
            client.groups.list()
        shown += ["".join(traceback.format_exception(caught.value)), repr(caught.value), repr(vars(caught.value))]
    assert not re.search("s3cret|czNjcmV0", "".join(shown))
    with pytest.raises(TypeError):
        pickle.dumps(client)


def test_on_response_receives_every_response(stub: Stub, delays: list[float]) -> None:
    seen: list[ResponseInfo] = []
    limits = {"ratelimit-limit": "60", "ratelimit-remaining": "59", "ratelimit-reset": "1"}
    headers = {"x-request-id": "r", "idempotency-replayed": "true", **limits}
    client = stub.client(Answer(503), Answer(200, {}, headers), on_response=seen.append)
    client.monitoring.screen(type="address", currency="btc", query="a")
    first, second = seen
    assert first == ResponseInfo("screenTransaction", 503, None, False, 1, first.duration_seconds, None)
    limit = bonafide.RateLimit(60, 59, 1)
    assert second == ResponseInfo("screenTransaction", 200, "r", True, 2, second.duration_seconds, limit)
    assert 0 <= first.duration_seconds < 10


def test_pages_are_loaded_when_they_are_needed_and_nothing_is_left_out(stub: Stub) -> None:
    def page(alerts: list[str], following: str | None) -> Answer:
        return Answer(200, {"alerts": [{"alertId": alert} for alert in alerts], "next": following})

    client = stub.client(page(["1", "2"], "c/1"), page([], "c2"), page(["3"], None))
    alerts = client.monitoring.alerts(state="open", before="start")
    assert stub.sent == []
    assert [alert["alertId"] for alert in alerts] == ["1", "2", "3"]
    assert [sent.query["before"] for sent in stub.sent] == [["start"], ["c/1"], ["c2"]]
    assert all(sent.query["state"] == ["open"] for sent in stub.sent)


def test_a_search_continues_at_the_end_of_its_page(stub: Stub) -> None:
    def page(offset: int, ids: list[str]) -> Answer:
        return Answer(200, {"offset": offset, "results": [{"id": one} for one in ids], "total": {"value": 3}})

    client = stub.client(page(0, ["a", "b"]), page(2, ["c"]))
    assert [entity["id"] for entity in client.lists.search("x", limit=2)] == ["a", "b", "c"]
    assert [sent.query.get("offset") for sent in stub.sent] == [None, ["2"]]


def session(status: str, stage: str, result: str = "{}") -> Answer:
    return Answer(200, {"session_id": "s", "status": status, "result": result, "metadata": {"stage": stage}})


def test_a_session_is_polled_until_it_is_final_or_in_review(stub: Stub, delays: list[float]) -> None:
    done = session("success", "done", '{"success":true}')
    result = stub.client(session("pending", "open"), done).sessions.wait_for_outcome("s", interval=7)["result"]
    assert result is not None and result["success"]
    assert (len(stub.sent), delays) == (2, [7])
    assert stub.client(session("pending", "in_review")).sessions.wait_for_outcome("s")["result"] is None
    late = stub.client(session("pending", "open")).sessions.wait_for_outcome("s", within=2)
    assert (late["status"], len(stub.sent)) == ("pending", 1)


def test_a_client_of_your_own_is_used_and_stays_open(stub: Stub) -> None:
    with httpx.Client(headers={"x-from": "own"}, auth=("a", "b"), follow_redirects=True, timeout=1) as own:
        with stub.client(OK, Answer(302, "", {"location": "/elsewhere"}), http_client=own) as client:
            client.groups.list()
            with pytest.raises(ApiError, match="redirects"):
                client.groups.list()
        assert not own.is_closed
    assert stub.sent[0].headers["x-from"] == "own"
    assert stub.sent[0].headers["authorization"].endswith(base64.b64encode(b"bf_test_a:s3cret").decode())


def test_the_version_is_that_of_the_package() -> None:
    assert f'version = "{bonafide.VERSION}"' in (SDK / "pyproject.toml").read_text()
