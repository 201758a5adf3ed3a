"""Links to the hosted page. A link works once, within ten minutes."""

from __future__ import annotations

from ..generated.models import Link, LinkFilter, LinksPage, ListedLink, NewLink
from ._base import Pages, RequestOptions, Resource, Unpack


class Links(Resource):
    def create(self, **link: Unpack[NewLink]) -> Link:
        """
        Makes a link for one applicant. If the response is lost, it is not repeated: make a new link, because links cost
        nothing.
        """
        return self._transport.json(Link, "createSessionLink", link)

    def list(self, **filter: Unpack[LinkFilter]) -> Pages[ListedLink, LinksPage]:
        """Links without their URLs, newest first. Those of the last 30 days are listed."""
        return self._transport.pages(ListedLink, LinksPage, "listSessionLinks", "links", filter)

    def revoke(self, link_id: str, **options: Unpack[RequestOptions]) -> ListedLink:
        """Revokes a link that nobody has opened. Otherwise, it raises `ConflictError`."""
        return self._transport.json(ListedLink, "revokeSessionLink", {"link_id": link_id, **options})
