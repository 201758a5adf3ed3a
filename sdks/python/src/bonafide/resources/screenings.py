"""Screenings of names against the sanctions lists, and alerts of ongoing screening. monitoring.py screens wallets."""

from __future__ import annotations

from ..generated.models import (
    NameScreening,
    NameScreeningFilter,
    NameScreeningsPage,
    ScreeningAlert,
    ScreeningAlertFilter,
    ScreeningAlertsPage,
)
from ._base import Pages, Resource, Unpack


class Screenings(Resource):
    def list(self, **filter: Unpack[NameScreeningFilter]) -> Pages[NameScreening, NameScreeningsPage]:
        """Screenings, one for each attempt, newest first. `code=2702` selects matches."""
        return self._transport.pages(NameScreening, NameScreeningsPage, "listNameScreenings", "screenings", filter)

    def alerts(self, **filter: Unpack[ScreeningAlertFilter]) -> Pages[ScreeningAlert, ScreeningAlertsPage]:
        """Listings that were found to resemble an approved person, newest first."""
        return self._transport.pages(ScreeningAlert, ScreeningAlertsPage, "listScreeningAlerts", "alerts", filter)
