"""The client against a real server. The last test checks that every operation that takes an API key was called."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import bonafide
import httpx
import pytest
from bonafide import Bonafide, ResponseInfo, verify_webhook
from bonafide.generated.endpoints import ENDPOINTS
from bonafide.models import AttemptSummary, ListedEvent
from owner import permit_key
from sandbox import Received, Sandbox, example, exchange, receiver, sandbox, specimen, until, use_link

RESPONSES: list[ResponseInfo] = []


@pytest.fixture(scope="module")
def server() -> Iterator[Sandbox]:
    with sandbox() as started:
        yield started


@pytest.fixture(scope="module")
def webhooks() -> Iterator[tuple[str, list[Received]]]:
    with receiver() as started:
        yield started


@pytest.fixture(scope="module")
def client(server: Sandbox) -> Iterator[Bonafide]:
    with client_of(server) as one:
        yield one


@pytest.fixture(scope="module")
def guests(server: Sandbox, client: Bonafide) -> str:
    """A Group of the Flow that requires no document."""
    return client.groups.create(name="Guests", flow_ids=[server.flow("data-only")])["groupId"]


def client_of(server: Sandbox, **options: Any) -> Bonafide:
    return Bonafide(**{**server.credentials, "timeout": 180, "on_response": RESPONSES.append, **options})


def person(**more: Any) -> Any:
    return {"external_user_id": f"user-{uuid.uuid4()}", "first_name": "Ann", "last_name": "Example", **more}


def sandbox_address(outcome: str) -> Any:
    address = "0x" + f"bonafide sandbox {outcome}".encode().hex()
    return {"type": "address", "currency": "eth", "query": address}


def test_a_link_becomes_a_session_a_result_a_signed_webhook_and_an_applicant(
    server: Sandbox, client: Bonafide, webhooks: tuple[str, list[Received]]
) -> None:
    flow_id, group_id = server.flow("passport"), server.demo["groupId"]
    address, messages = webhooks
    client.flows.update(flow_id, webhook_url=address)
    expected: Any = {"firstName": "Tamsin", "lastName": "Velloway", "dob": "03/14/1991"}
    link = client.links.create(user_id="traveller-1", group_id=group_id, flow_id=flow_id, expected=expected)
    # The applicant opens the link, but your own system collects the pictures.
    session_id = exchange(server.base_url, link["url"])["session_id"]
    opened = client.sessions.get(session_id)
    assert (opened["status"], opened["result"], opened["metadata"]["stage"]) == ("pending", None, "open")

    with specimen("pass-passport-passportFront").open("rb") as passport:
        result = client.verifications.submit(
            flow_id=flow_id, session_id=session_id, grouping_id=group_id, external_user_id="traveller-1",
            first_name="Tamsin", last_name="Velloway", dob="03/14/1991", country="UTO", document_types=["PASSPORT"],
            document_country="UTO", ocr_match=True, passport_front=passport, selfie=specimen("pass-passport-selfie"),
        )  # fmt: skip
    assert result["success"], result.get("message")
    mrz, comparison, documents = result.get("mrz_data"), result.get("ocr_comparison"), result.get("document_results")
    assert mrz and mrz["mrz_data"]["document_number"] == "UTA776763"
    assert documents and documents[0]["face_match"]
    assert cast(Any, result)["metadata"]["info"]["firstName"] == "Tamsin"
    assert result["kycResults"]["status"] == "clear"
    assert comparison and comparison["match"]

    session = client.sessions.wait_for_outcome(session_id)
    seen = (session["status"], session["metadata"]["stage"], session["user_id"])
    assert seen == ("success", "done", "traveller-1")
    assert session["result"] and session["result"].get("facemap_id") == result.get("facemap_id")

    secret = server.cli("webhook", "secret", flow_id)
    message = until(lambda: messages[0] if messages else None)
    event = verify_webhook(message.body, message.headers, secret)
    assert event["type"] == "verification.completed"
    assert event["id"] == message.headers["webhook-id"]
    assert event["data"] == {
        **event["data"], "externalUserId": "traveller-1", "status": "approved", "success": True, "codes": [],
        "sequence": 1, "isSandbox": True, "sessionId": session_id,
    }  # fmt: skip
    with pytest.raises(bonafide.WebhookVerificationError):
        verify_webhook(message.body.replace(b"approved", b"declined"), message.headers, secret)

    def delivered() -> ListedEvent | None:
        [first, *_] = client.events.list(flow_id=flow_id, type="verification.completed").first()["events"]
        return first if first["delivery"]["state"] == "delivered" else None

    listed = until(delivered)
    assert (listed["eventId"], listed["timestamp"]) == (event["id"], event["timestamp"])
    assert listed.get("data") == event["data"]

    resolved = client.applicants.resolve("traveller-1")
    assert resolved["facemapId"] == result.get("facemap_id")
    registration = client.applicants.get(resolved["facemapId"])["registrations"][0]
    assert registration.get("status") == "approved"
    assert registration["info"]["idDocs"][0]["number"] == "UTA776763"
    assert registration["verifications"][0]["logId"] == event["data"]["logId"]

    [attempt] = client.attempts.list(session_id=session_id, status="approved")
    assert attempt["logId"] == event["data"]["logId"]
    whole = client.attempts.get(attempt["logId"])
    assert (whole["attempt"], whole["response"]["success"], whole["decisions"]) == (attempt, True, [])
    screening = client.screenings.list(facemap_id=resolved["facemapId"]).first()["screenings"][0]
    assert screening["screening"]["status"] == "clear"
    assert client.screenings.alerts(state="open").first() == {"alerts": [], "next": None}
    found = client.applicants.list(status="approved", name=str(whole["submission"]["lastName"]), limit=1)
    assert "traveller-1" in [one["externalUserId"] for one in found]


def test_links_are_listed_and_revoked(server: Sandbox, client: Bonafide) -> None:
    client.links.create(group_id=server.demo["groupId"], flow_id=server.flow("passport"), user_id="revoked-1")
    [link] = client.links.list(user_id="revoked-1", state="open")
    assert client.links.revoke(link["linkId"])["state"] == "revoked"
    assert list(client.links.list(user_id="revoked-1", state="open")) == []
    with pytest.raises(bonafide.NotFoundError):
        client.links.revoke(str(uuid.uuid4()))


def test_both_secrets_verify_a_message_during_a_rotation(
    server: Sandbox, client: Bonafide, webhooks: tuple[str, list[Received]]
) -> None:
    flow_id = server.flow("residence")
    address, messages = webhooks
    client.flows.update(flow_id, webhook_url=address)
    old = server.cli("webhook", "secret", flow_id)
    server.cli("webhook", "rotate", flow_id)
    current = server.cli("webhook", "secret", flow_id)
    assert current != old
    server.cli("webhook", "test", flow_id)
    message = until(lambda: next((one for one in messages if b"webhook.test" in one.body), None))
    accepted: list[str | list[str]] = [old, current, [old, current]]
    for secrets in accepted:
        event = verify_webhook(message.body, message.headers, secrets)
        assert event["type"] == "webhook.test"
        assert event["data"]["flowId"] == flow_id and event["data"]["isSandbox"]
    with pytest.raises(bonafide.WebhookVerificationError):
        verify_webhook(message.body, message.headers, server.cli("webhook", "secret", server.flow("licence")))


def test_the_example_makes_a_link_and_receives_the_outcome(server: Sandbox, client: Bonafide, guests: str) -> None:
    flow_id = server.flow("data-only")
    environment = {
        "BONAFIDE_URL": server.base_url, "API_KEY": server.demo["apiKey"], "SECRET": server.demo["secret"],
        "GROUP_ID": guests, "FLOW_ID": flow_id, "WEBHOOK_SECRET": server.cli("webhook", "secret", flow_id),
    }  # fmt: skip
    with example(environment) as (address, output):
        client.flows.update(flow_id, webhook_url=f"{address}/webhook")
        url = httpx.post(f"{address}/verify?user=guest-7").json()["url"]
        session_id = use_link(server.base_url, url, {"firstName": "Ann", "lastName": "Example"})
        until(lambda: True if "verification.completed guest-7 approved" in output() else None)
        assert client.sessions.wait_for_outcome(session_id)["status"] == "success"
        assert httpx.post(f"{address}/webhook", content=b"{}").status_code == 400
        assert [httpx.post(address).status_code, httpx.get(f"{address}/verify").status_code] == [404, 405]
    client.flows.update(flow_id, webhook_url="")


def test_a_failed_verification_is_a_result_and_not_an_error(server: Sandbox, client: Bonafide) -> None:
    flow_id = server.flow("data-only")
    flagged = client.verifications.submit(
        flow_id=flow_id, external_user_id=f"user-{uuid.uuid4()}", first_name="Zoltar", last_name="Quenthabar"
    )
    assert not flagged["success"]
    assert flagged["kycResults"].get("code") == 2702
    assert flagged["kycResults"]["results"][0]["caption"] == "Zoltar Quenthabar"
    expired = client.verifications.submit(**person(flow_id=flow_id, last_name="SANDBOX-2509"))
    assert cast(Any, expired)["documentResult"]["codes"] == [2509]


def test_a_repeated_verification_with_the_same_key_is_carried_out_once(server: Sandbox, client: Bonafide) -> None:
    request = person(flow_id=server.flow("data-only"), idempotency_key=str(uuid.uuid4()))
    first = client.verifications.submit(**request)
    assert not RESPONSES[-1].is_replayed
    assert client.verifications.submit(**request) == first
    assert RESPONSES[-1].is_replayed
    with pytest.raises(bonafide.InvalidRequestError) as caught:
        client.verifications.submit(**{**request, "last_name": "Another"})
    assert caught.value.status == 422


class LosesTheFirst(httpx.HTTPTransport):
    """A network that loses the first response."""

    requests = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        response.read()
        self.requests += 1
        if self.requests == 1:
            raise httpx.ReadError("the connection was lost", request=request)
        return response


def test_a_verification_whose_response_was_lost_is_repeated_and_recorded_once(
    server: Sandbox, client: Bonafide
) -> None:
    request = person(
        flow_id=server.flow("passport"), document_types="PASSPORT", document_country="UTO", dob="03/14/1991"
    )
    network = LosesTheFirst()
    with httpx.Client(transport=network) as http_client:
        result = client_of(server, http_client=http_client).verifications.submit(
            **request,
            passport_front=specimen("2003-document-corrupted-passportFront"),
            selfie=specimen("2003-document-corrupted-selfie").read_bytes(),
        )
    assert network.requests == 2 and RESPONSES[-1].is_replayed
    assert 2003 in (result["idvResult"].get("codes") or [])
    facemap_id = client.applicants.resolve(request["external_user_id"])["facemapId"]
    [registration] = client.applicants.get(facemap_id)["registrations"]
    assert len(registration["verifications"]) == 1


def test_errors_state_the_field_the_status_and_the_request(server: Sandbox, client: Bonafide) -> None:
    request = person(flow_id=server.flow("data-only"))
    with pytest.raises(
        bonafide.InvalidRequestError, match="^Validation failed: firstName cannot be empty; email - "
    ) as caught:
        client.verifications.submit(**{**request, "first_name": "", "email": "no"})
    assert caught.value.status == 400
    assert [fault.field for fault in caught.value.faults] == ["firstName", "email"]
    assert uuid.UUID(caught.value.request_id)
    without_files = {
        **request,
        "document_types": "PASSPORT",
        "document_country": "UTO",
        "flow_id": server.flow("passport"),
    }
    faulty: dict[str, Callable[[], object]] = {
        "passportFront": lambda: client.verifications.submit(**without_files),
        "name": lambda: client.groups.create(name="", flow_ids=[]),
        "query.limit": lambda: client.lists.search("a", limit=501).first(),
    }
    for field, call in faulty.items():
        with pytest.raises(bonafide.InvalidRequestError) as caught:
            call()
        assert caught.value.field == field
    with pytest.raises(bonafide.PermissionError):
        client.verifications.submit(**{**request, "country": "PRK"})
    unknown = str(uuid.uuid4())
    missing: list[Callable[[], object]] = [
        lambda: client.flows.get(unknown),
        lambda: client.groups.get(unknown),
        lambda: client.sessions.get(unknown),
        lambda: client.invitations.get(unknown),
        lambda: client.applicants.get(unknown),
        lambda: client.applicants.resolve(".."),
        lambda: client.monitoring.picture(unknown),
        lambda: client.lists.entity("nobody"),
        lambda: client.verifications.submit(**{**request, "flow_id": unknown}),
    ]
    for call in missing:
        with pytest.raises(bonafide.NotFoundError):
            call()


def test_a_key_without_permissions_reads_no_evidence_decides_nothing_and_erases_and_exports_nobody(
    client: Bonafide,
) -> None:
    reviewer_id = str(uuid.uuid4())
    calls: list[Callable[[], object]] = [
        lambda: client.attempts.evidence(1),
        lambda: client.attempts.file(1, "selfie"),
        lambda: client.attempts.decide(1, decision="decline", reason="copy", reviewer_id=reviewer_id),
        lambda: client.attempts.add_note(1, text="note", reviewer_id=reviewer_id),
        lambda: client.applicants.erase(str(uuid.uuid4()), reviewer_id),
        lambda: client.applicants.export(str(uuid.uuid4()), reviewer_id),
    ]
    for call in calls:
        with pytest.raises(bonafide.PermissionError, match="lacks the permission"):
            call()
    with pytest.raises(bonafide.InvalidRequestError) as caught:
        client.attempts.decide(1, decision="decline", reviewer_id="")
    assert caught.value.field == "reviewerId"


def test_wrong_credentials_are_an_authentication_error_in_every_family(server: Sandbox, guests: str) -> None:
    flow_id = server.flow("data-only")
    with client_of(server, secret="wrong") as stranger:
        calls: list[Callable[[], object]] = [
            stranger.groups.list,
            stranger.flows.list,
            lambda: stranger.links.create(user_id="u", group_id=guests, flow_id=flow_id),
            lambda: stranger.verifications.submit(**person(flow_id=flow_id)),
            lambda: stranger.applicants.resolve("u"),
            lambda: stranger.monitoring.screen(type="address", currency="btc", query="a"),
            stranger.lists.catalog,
        ]
        for call in calls:
            with pytest.raises(bonafide.AuthenticationError):
                call()


def test_flows_are_read_as_json_and_changed(server: Sandbox, client: Bonafide) -> None:
    flow_id = server.flow("licence")
    before = client.flows.get(flow_id)
    assert before["defaultDocumentTypes"] == ["DRIVERS"]
    changed = client.flows.update(
        flow_id,
        min_age=21,
        country_overrides=[{"countryAlpha3": "USA", "restricted": True}],
        geo_blocked_countries=[{"countryAlpha2": "FR", "countryName": "France"}],
    )
    assert changed.get("minAge") == 21
    assert changed["countryOverrides"][0].get("restricted")
    assert changed["geoBlockedCountries"][0]["countryAlpha2"] == "FR"
    assert changed["defaultFields"] == before["defaultFields"]
    with pytest.raises(bonafide.InvalidRequestError, match="^No fields to update$"):
        client.flows.update(flow_id)
    client.flows.delete(flow_id)
    assert flow_id not in [flow["flowId"] for flow in client.flows.list()]


def test_groups_are_created_changed_and_deleted(server: Sandbox, client: Bonafide) -> None:
    flow_id, key = server.flow("data-only"), str(uuid.uuid4())
    group = client.groups.create(name="Customers", flow_ids=[flow_id], status="active", idempotency_key=key)
    assert client.groups.create(name="Customers", flow_ids=[flow_id], status="active", idempotency_key=key) == group
    with pytest.raises(bonafide.ConflictError):
        client.groups.create(name="Customers", flow_ids=[flow_id])
    changed = client.groups.update(group["groupId"], description="Retail", status="inactive")
    seen = (changed.get("description"), changed["status"], changed["flows"][0]["flowId"])
    assert seen == ("Retail", "inactive", flow_id)
    assert client.groups.get(group["groupId"]) == changed
    assert group["groupId"] in [one["groupId"] for one in client.groups.list()]
    client.groups.delete(group["groupId"])
    with pytest.raises(bonafide.NotFoundError):
        client.groups.get(group["groupId"])


def test_invitations_are_listed_in_pages_reminded_and_revoked(server: Sandbox, client: Bonafide, guests: str) -> None:
    user_id = f"invited-{uuid.uuid4()}"
    created = [
        client.invitations.create(user_id=user_id, group_id=guests, flow_id=server.flow("data-only")) for _ in range(3)
    ]
    first = created[0]
    assert "invitation=" in first["url"]
    pages = client.invitations.list(user_id=user_id, limit=2)
    assert [one["invitationId"] for one in pages] == [one["invitationId"] for one in reversed(created)]
    page = pages.first()
    assert len(page["invitations"]) == 2
    rest = client.invitations.list(user_id=user_id, before=page.get("next")).first()
    assert (len(rest["invitations"]), rest.get("next")) == (1, None)

    reminded = client.invitations.remind(first["invitationId"])
    assert reminded["reminders"] == 1 and reminded["url"] != first["url"]
    for _ in range(2):
        assert client.invitations.revoke(first["invitationId"])["status"] == "revoked"
    detail = client.invitations.get(first["invitationId"])
    assert (detail["status"], detail["sessions"]) == ("revoked", [])
    with pytest.raises(bonafide.ConflictError) as caught:
        client.invitations.remind(first["invitationId"])
    assert caught.value.code == "invitation_ended"
    assert len(list(client.invitations.list(user_id=user_id, status="open"))) == 2


def test_addresses_are_screened_drawn_and_their_failures_reported(client: Bonafide) -> None:
    request = {**sandbox_address("080"), "report": "detailed", "label": "order 7"}
    request["idempotency_key"] = str(uuid.uuid4())
    screening = client.monitoring.screen(**request)
    assert (screening["score"], screening["label"]) == (80, "order 7")
    assert screening.get("entities") and screening.get("exposures")
    assert client.monitoring.screen(**request)["queryId"] == screening["queryId"]
    assert RESPONSES[-1].is_replayed
    assert client.monitoring.picture(screening["queryId"])["nodes"]
    assert client.monitoring.picture_as_svg(screening["queryId"]).startswith("<svg")
    with pytest.raises(bonafide.NotFoundError):
        client.monitoring.screen(**sandbox_address("404"))
    failed, scored = client.monitoring.screenings(currency="eth", limit=2).first()["screenings"]
    assert (failed["status"], scored["queryId"]) == (404, screening["queryId"])
    response = client.monitoring.get(screening["queryId"]).get("response")
    assert response and response["score"] == 80
    for status in (502, 503, 504):
        with pytest.raises(bonafide.ServerError) as caught:
            client.monitoring.screen(**sandbox_address(str(status)), max_retries=0)
        assert caught.value.status == status
    with pytest.raises(bonafide.InvalidRequestError) as refused:
        client.monitoring.screen(type="address", currency="eth", query="a b")
    assert refused.value.field == "query"
    assert list(client.monitoring.alerts(state="open", limit=1)) == []


def test_lists_are_matched_and_searched(client: Bonafide) -> None:
    found = client.lists.match(
        {"suspect": {"schema": "Person", "properties": {"name": ["Zoltar Quenthabar"]}}}, limit=1, topics=["sanction"]
    )
    [hit] = found["responses"]["suspect"]["results"]
    assert hit["match"]
    assert client.lists.entity(hit["id"])["caption"] == "Zoltar Quenthabar"
    search = client.lists.search(dataset="demo", limit=3)
    total = search.first()["total"]["value"]
    assert total > 3
    ids = [entity["id"] for entity in search]
    assert len(set(ids)) == len(ids) == total
    assert "demo" in [dataset["name"] for dataset in client.lists.catalog()["datasets"]]
    assert client.lists.algorithms()["algorithms"]
    assert "demo" in [one["name"] for one in client.lists.versions()["lists"] if one["counts"]]


def test_a_permitted_key_reads_evidence_notes_decides_exports_and_erases_in_a_members_name(
    server: Sandbox, client: Bonafide
) -> None:
    reviewer_id = permit_key(server)
    attempts: list[AttemptSummary] = client.attempts.list(external_user_id="traveller-1").first()["attempts"]
    log_id, facemap_id = attempts[0]["logId"], attempts[0]["facemapId"]
    client.attempts.add_note(log_id, text="Called", reviewer_id=reviewer_id)
    evidence = client.attempts.evidence(log_id)
    [note] = evidence["notes"]
    assert (evidence["status"], note["text"], note["writtenBy"]) == ("approved", "Called", reviewer_id)
    assert "selfie" in evidence["files"]
    assert client.attempts.file(log_id, "selfie") == specimen("pass-passport-selfie").read_bytes()
    decision: Any = {"reason": "A copy", "reviewer_id": reviewer_id, "version": evidence["version"]}
    outcome = client.attempts.decide(log_id, decision="decline", **decision)
    assert outcome == {"logId": log_id, "outcome": "decided", "status": "declined"}
    with pytest.raises(bonafide.ConflictError):
        client.attempts.decide(log_id, decision="approve", **decision)
    assert client.applicants.export(facemap_id, reviewer_id).startswith(b"PK")
    assert client.applicants.erase(facemap_id, reviewer_id)["attempts"] >= 1
    with pytest.raises(bonafide.NotFoundError):
        client.attempts.evidence(log_id)


def test_the_server_states_which_images_a_document_requires(client: Bonafide) -> None:
    expected = {"success": True, "needsBack": True, "hasOneSidedVariant": False, "known": True}
    assert client.verifications.requirements("DEU", "ID_CARD") == expected


def test_a_call_over_the_rate_limit_is_repeated_when_the_server_permits_it_or_refused_at_once() -> None:
    with (
        sandbox("--rate-reads", "60") as limited,
        client_of(limited, max_retries=0) as once,
        ThreadPoolExecutor(20) as pool,
    ):

        def refused() -> bonafide.RateLimitError | None:
            calls = [pool.submit(once.groups.list) for _ in range(20)]
            errors = [call.exception() for call in calls]
            return next((error for error in errors if isinstance(error, bonafide.RateLimitError)), None)

        assert until(refused).retry_after_seconds
        limit = RESPONSES[-1].rate_limit
        assert limit and limit.limit == 60
        attempts: list[int] = []
        with client_of(limited, on_response=lambda info: attempts.append(info.attempt)) as patient:

            def repeated() -> bool | None:
                patient.groups.list()
                return True if 2 in attempts else None

            until(repeated)


def test_every_operation_that_takes_an_api_key_was_called_and_succeeded(request: pytest.FixtureRequest) -> None:
    if len(request.session.items) > 1:  # Not if it runs alone.
        succeeded = {info.operation for info in RESPONSES if info.status < 300}
        # The variant with a path is the same operation as findApplicantByExternalUserId, which takes every id.
        assert set(ENDPOINTS) - succeeded == {"getApplicantByExternalUserId"}
