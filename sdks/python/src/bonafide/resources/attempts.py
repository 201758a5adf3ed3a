"""
Attempts: each verification that the account recorded, with its submission and its response. A key with permissions also
reads the evidence, decides and notes.
"""

from __future__ import annotations

from ..generated.models import (
    AttemptFilter,
    AttemptsPage,
    AttemptSummary,
    DecisionOutcome,
    Evidence,
    NewDecision,
    NewNote,
    NotedAttempt,
    WholeAttempt,
)
from ._base import Pages, RequestOptions, Resource, Unpack


class Attempts(Resource):
    def get(self, log_id: int, **options: Unpack[RequestOptions]) -> WholeAttempt:
        """One attempt. It raises `NotFoundError` if retention or an erasure has deleted it."""
        return self._transport.json(WholeAttempt, "getAttempt", {"log_id": log_id, **options})

    def list(self, **filter: Unpack[AttemptFilter]) -> Pages[AttemptSummary, AttemptsPage]:
        """Attempts, newest first."""
        return self._transport.pages(AttemptSummary, AttemptsPage, "listAttempts", "attempts", filter)

    def evidence(self, log_id: int, **options: Unpack[RequestOptions]) -> Evidence:
        """What reviewers see. The key needs the permission `read-evidence`; the audit trail records the call."""
        return self._transport.json(Evidence, "getAttemptEvidence", {"log_id": log_id, **options})

    def file(self, log_id: int, name: str, **options: Unpack[RequestOptions]) -> bytes:
        """
        A submitted file, byte for byte, by a name in `files` of the evidence. Never let a browser open it on your site.
        """
        return self._transport.content("getAttemptFile", {"log_id": log_id, "name": name, **options})

    def decide(self, log_id: int, **decision: Unpack[NewDecision]) -> DecisionOutcome:
        """
        Declines an attempt, or proposes to approve it: an approval takes effect when people agree in the portal. The
        key needs the permission `decide`. Repeating a decision changes nothing.
        """
        return self._transport.json(DecisionOutcome, "decideAttempt", {"log_id": log_id, **decision})

    def add_note(self, log_id: int, **note: Unpack[NewNote]) -> None:
        """Adds a note. The key needs the permission `decide`."""
        self._transport.json(NotedAttempt, "addAttemptNote", {"log_id": log_id, **note})
