"""Hosted sessions: what became of a link or an invitation after the applicant opened it."""

from __future__ import annotations

import json
import time
from typing import Any, cast

from ..generated.models import Session
from ._base import RequestOptions, Resource, Unpack


class Sessions(Resource):
    def get(self, session_id: str, **options: Unpack[RequestOptions]) -> Session:
        return _decoded(self._transport.json(Session, "getVerificationResult", {"session_id": session_id, **options}))

    def wait_for_outcome(
        self, session_id: str, *, interval: float = 3, within: float | None = None, **options: Unpack[RequestOptions]
    ) -> Session:
        """
        Polls a session every `interval` seconds until its status is final, or until a reviewer must decide
        (`metadata.stage` is `in_review`). After `within` seconds, it returns the session as it is, with the status
        `pending`. A webhook is better if you have many sessions.
        """
        end = None if within is None else time.monotonic() + within
        while True:
            session = self.get(session_id, **options)
            if session["status"] != "pending" or session["metadata"]["stage"] == "in_review":
                return session
            if end is not None and time.monotonic() + interval > end:
                return session
            time.sleep(interval)


def _decoded(session: Session) -> Session:
    """The session with its result, which the server sends as JSON inside a string, `{}` until there is one."""
    sent = cast("dict[str, Any]", session)
    return cast(Session, {**sent, "result": json.loads(sent["result"]) or None})
