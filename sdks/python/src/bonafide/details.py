"""The members that the OpenAPI document describes as free-form objects, and that the contract defines. Types only."""

from __future__ import annotations

import sys
from typing import Any

from .words import DocumentType

if sys.version_info >= (3, 11):
    from typing import NotRequired, TypedDict
else:
    from typing_extensions import NotRequired, TypedDict


class MatchedName(TypedDict):
    source: str
    name: str


class ScreeningHit(TypedDict):
    """An entry of a sanctions list that resembles the applicant. It can have further members."""

    id: str
    caption: str
    schema: str
    score: float
    """0–1."""
    match: bool
    datasets: list[str]
    topics: NotRequired[list[str]]
    programs: NotRequired[list[str]]
    properties: NotRequired[dict[str, list[str]]]
    features: NotRequired[dict[str, float]]
    matchedNames: NotRequired[list[MatchedName]]


class ScreeningTotal(TypedDict):
    value: int
    relation: str


class FurtherName(TypedDict):
    source: str
    name: str
    queryParams: dict[str, str]


class SubmittedInfo(TypedDict):
    firstName: str
    lastName: str
    dob: str | None
    country: str | None


class SubmittedDocument(TypedDict):
    idDocType: DocumentType
    country: str


class SubmittedMetadata(TypedDict):
    externalUserId: str
    info: SubmittedInfo
    ocrMatch: bool
    documents: list[SubmittedDocument]


class DocumentOutcome(TypedDict):
    document_type: DocumentType
    face_match: bool
    similarity_score: float
    message: str


class MrzData(TypedDict):
    status: str
    given_name: str | None
    surname: str | None
    document_number: str | None
    issuer_code: str | None
    birth_date: str | None
    expiry_date: str | None
    sex: str | None
    mrz_type: str


class MrzOutcome(TypedDict):
    success: bool
    mrz_data: MrzData


class OcrComparison(TypedDict):
    match: bool
    match_score: float
    field_results: list[dict[str, Any]]
    mismatches: list[Any]
    warnings: list[Any]


class Address(TypedDict, total=False):
    street: str
    town: str
    state: str
    postCode: str
    country: str


class ApplicantInfo(TypedDict, total=False):
    """
    What was submitted about a person, the newest value of each member; under `idDocs`, what documents state. It can
    have further members.
    """

    firstName: str
    lastName: str
    dob: str
    """`MM/DD/YYYY`."""
    phone: str
    email: str
    country: str
    nationality: str
    addresses: list[Address]
    idDocs: list[dict[str, str | None]]


class SessionReview(TypedDict):
    decision: str
    at: str
