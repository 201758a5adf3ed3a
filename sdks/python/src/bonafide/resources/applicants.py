"""Applicant look-up: what is recorded about a person. A key with permissions also erases and exports people."""

from __future__ import annotations

from ..generated.models import (
    ApplicantFilter,
    ApplicantRecord,
    ApplicantsPage,
    ErasedPerson,
    ListedApplicant,
    ResolvedApplicant,
)
from ._base import Pages, RequestOptions, Resource, Unpack


class Applicants(Resource):
    def resolve(self, external_user_id: str, **options: Unpack[RequestOptions]) -> ResolvedApplicant:
        """Resolves your own id of a person to facemap ids. It raises `NotFoundError` if there is no such applicant."""
        # The variant with a query takes every id; in a path, `.` and `..` would name something else.
        arguments = {"external_user_id": external_user_id, **options}
        return self._transport.json(ResolvedApplicant, "findApplicantByExternalUserId", arguments)

    def list(self, **filter: Unpack[ApplicantFilter]) -> Pages[ListedApplicant, ApplicantsPage]:
        """Applicants, newest first: one entry for each person and Group. `name` searches whole words."""
        return self._transport.pages(ListedApplicant, ApplicantsPage, "listApplicants", "applicants", filter)

    def get(self, facemap_id: str, **options: Unpack[RequestOptions]) -> ApplicantRecord:
        """Everything recorded about a person."""
        return self._transport.json(ApplicantRecord, "getApplicantByFacemapId", {"facemap_id": facemap_id, **options})

    def erase(self, facemap_id: str, reviewer_id: str, **options: Unpack[RequestOptions]) -> ErasedPerson:
        """
        Erases a person and all of their data, permanently. `reviewer_id` is responsible; the key needs the permission
        `erase`.
        """
        arguments = {"facemap_id": facemap_id, "reviewer_id": reviewer_id, **options}
        return self._transport.json(ErasedPerson, "eraseApplicant", arguments)

    def export(self, facemap_id: str, reviewer_id: str, **options: Unpack[RequestOptions]) -> bytes:
        """
        All data about a person as a ZIP file. `reviewer_id` is responsible; the key needs the permission `export`.
        """
        arguments = {"facemap_id": facemap_id, "reviewer_id": reviewer_id, **options}
        return self._transport.content("exportApplicant", arguments)
