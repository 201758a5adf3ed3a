"""Verifications: data and pictures that your own system collected."""

from __future__ import annotations

from ..generated.models import DocumentRequirements, VerificationRequest, VerificationResult
from ..words import DocumentType
from ._base import RequestOptions, Resource, Unpack


class Verifications(Resource):
    def submit(self, **request: Unpack[VerificationRequest]) -> VerificationResult:
        """
        Verifies a person. It returns normally if the verification ran, whatever the outcome: check `success`. An error
        means that nothing was verified or recorded, or that the result is unknown.
        """
        return self._transport.json(VerificationResult, "submitVerification", request)

    def requirements(
        self, country: str, doc_type: DocumentType, **options: Unpack[RequestOptions]
    ) -> DocumentRequirements:
        """Whether a kind of document needs a picture of its back. `country` is a code or a name."""
        arguments = {"country": country, "doc_type": doc_type, **options}
        return self._transport.json(DocumentRequirements, "getDocumentRequirements", arguments)
