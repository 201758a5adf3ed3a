"""Transaction monitoring: scores of crypto addresses and transactions, and alerts about those that you screened."""

from __future__ import annotations

from ..generated.models import (
    Picture,
    Screening,
    ScreeningRequest,
    WalletAlert,
    WalletAlertFilter,
    WalletAlertsPage,
    WalletScreening,
    WalletScreeningFilter,
    WalletScreeningsPage,
    WholeWalletScreening,
)
from ._base import Pages, RequestOptions, Resource, Unpack


class Monitoring(Resource):
    def screen(self, **request: Unpack[ScreeningRequest]) -> Screening:
        """
        Scores an address or a transaction from 0 (no known risk) to 100 (sanctioned). A low score does not mean "safe".
        """
        return self._transport.json(Screening, "screenTransaction", request)

    def picture(self, query_id: str, **options: Unpack[RequestOptions]) -> Picture:
        """The flow of money that led to a score."""
        arguments = {"query_id": query_id, "format": "json", **options}
        return self._transport.json(Picture, "getScreeningPicture", arguments)

    def picture_as_svg(self, query_id: str, **options: Unpack[RequestOptions]) -> str:
        """The same flow as an SVG picture."""
        return self._transport.text("getScreeningPicture", {"query_id": query_id, "format": "svg", **options})

    def alerts(self, **filter: Unpack[WalletAlertFilter]) -> Pages[WalletAlert, WalletAlertsPage]:
        """Alerts about screened addresses that a list names only now, newest first."""
        return self._transport.pages(WalletAlert, WalletAlertsPage, "listWalletAlerts", "alerts", filter)

    def screenings(self, **filter: Unpack[WalletScreeningFilter]) -> Pages[WalletScreening, WalletScreeningsPage]:
        """Stored screenings, also those without a score, newest first."""
        return self._transport.pages(WalletScreening, WalletScreeningsPage, "listScreenings", "screenings", filter)

    def get(self, query_id: str, **options: Unpack[RequestOptions]) -> WholeWalletScreening:
        """One stored screening and its response, which is None if there is no score."""
        return self._transport.json(WholeWalletScreening, "getScreening", {"query_id": query_id, **options})
