"""Webhook events as the server keeps them, for receivers that lost some. webhooks.py verifies those that arrive."""

from __future__ import annotations

from ..generated.models import EventFilter, EventsPage, ListedEvent
from ._base import Pages, Resource, Unpack


class Events(Resource):
    def list(self, **filter: Unpack[EventFilter]) -> Pages[ListedEvent, EventsPage]:
        """The events of the last 30 days with their deliveries, newest first."""
        return self._transport.pages(ListedEvent, EventsPage, "listEvents", "events", filter)
