"""The words of the API's members, which the OpenAPI document leaves open, and the files that it accepts. Types only."""

from __future__ import annotations

import os
from typing import IO, Literal, Union

DocumentType = Literal["PASSPORT", "DRIVERS", "ID_CARD", "RESIDENCY_CARD"]
GroupStatus = Literal["active", "inactive"]
SessionStatus = Literal["pending", "success", "failed", "expired"]
SessionStage = Literal["open", "in_review", "done"]
LinkState = Literal["open", "used", "expired", "revoked"]
InvitationStatus = Literal["open", "in_review", "success", "failed", "expired", "revoked"]
AttemptStatus = Literal["approved", "declined", "failed", "pending"]
ScreeningStatus = Literal["clear", "match"]
AlertState = Literal["open", "same_person", "other_person", "delisted", "no_match"]
Verdict = Literal["approve", "decline"]
ReviewDecision = Literal["approve", "decline", "reopen"]
DecisionResult = Literal["decided", "proposed"]
ScreeningKind = Literal["address", "transaction"]
Report = Literal["simple", "detailed"]

Upload = Union[bytes, bytearray, memoryview, os.PathLike[str], IO[bytes]]
"""A file: its bytes, its path as a `pathlib.Path`, or a file opened in binary mode. JPEG, PNG, WEBP, BMP or PDF, at
most 10 MB."""
