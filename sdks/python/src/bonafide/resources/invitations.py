"""Invitations: links for mail or SMS, which open a session whenever the applicant presses their button."""

from __future__ import annotations

from ..generated.models import (
    Invitation,
    InvitationDetail,
    InvitationFilter,
    InvitationsPage,
    InvitationWithUrl,
    NewInvitation,
)
from ._base import Pages, RequestOptions, Resource, Unpack


class Invitations(Resource):
    def create(self, **invitation: Unpack[NewInvitation]) -> InvitationWithUrl:
        """Creates an invitation. With `email`, the server mails it. If the response is lost, it is not repeated."""
        return self._transport.json(InvitationWithUrl, "createInvitation", invitation)

    def get(self, invitation_id: str, **options: Unpack[RequestOptions]) -> InvitationDetail:
        return self._transport.json(InvitationDetail, "getInvitation", {"invitation_id": invitation_id, **options})

    def list(self, **filter: Unpack[InvitationFilter]) -> Pages[Invitation, InvitationsPage]:
        """Invitations, newest first. `before` continues after the page whose `next` it is."""
        return self._transport.pages(Invitation, InvitationsPage, "listInvitations", "invitations", filter)

    def remind(self, invitation_id: str, **options: Unpack[RequestOptions]) -> InvitationWithUrl:
        """Counts a reminder and returns a further link. With an address, the server also mails it."""
        return self._transport.json(InvitationWithUrl, "remindInvitation", {"invitation_id": invitation_id, **options})

    def revoke(self, invitation_id: str, **options: Unpack[RequestOptions]) -> InvitationDetail:
        """Ends an invitation and its open session."""
        return self._transport.json(InvitationDetail, "revokeInvitation", {"invitation_id": invitation_id, **options})
