"""The client: one resource for each part of the API, over one transport."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

import httpx

from .options import ResponseInfo
from .resources.applicants import Applicants
from .resources.attempts import Attempts
from .resources.events import Events
from .resources.flows import Flows
from .resources.groups import Groups
from .resources.invitations import Invitations
from .resources.links import Links
from .resources.lists import Lists
from .resources.monitoring import Monitoring
from .resources.screenings import Screenings
from .resources.sessions import Sessions
from .resources.verifications import Verifications
from .transport import Transport


class Bonafide:
    """
    A client of one Bonafide server, for servers only: its secret gives access to your applicants' data. Threads may
    share it. It keeps connections open until `close()`, or until the end of a `with` statement.
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        secret: str,
        timeout: float = 60,
        max_retries: int = 2,
        http_client: httpx.Client | None = None,
        on_response: Callable[[ResponseInfo], None] | None = None,
    ) -> None:
        """
        `base_url` is the address of the server, such as `https://verify.example.com`. `api_key` is `bf_live_…` or
        `bf_test_…`; never send its `secret` to a browser.

        `timeout` limits the seconds of each part of an attempt: to connect, to send, to wait for the response, and to
        receive it. `max_retries` states how often a request that is safe to repeat is repeated after a failure.
        `http_client` may have a proxy, for example; you close it. `on_response` is called after each response, for
        logs and metrics; if it raises, the call fails.
        """
        self._transport = transport = Transport(
            base_url,
            api_key,
            secret,
            timeout=timeout,
            max_retries=max_retries,
            http_client=http_client,
            on_response=on_response,
        )
        self.links = Links(transport)
        self.sessions = Sessions(transport)
        self.invitations = Invitations(transport)
        self.verifications = Verifications(transport)
        self.applicants = Applicants(transport)
        self.attempts = Attempts(transport)
        self.screenings = Screenings(transport)
        self.events = Events(transport)
        self.monitoring = Monitoring(transport)
        self.lists = Lists(transport)
        self.flows = Flows(transport)
        self.groups = Groups(transport)

    def close(self) -> None:
        """Closes the connections."""
        self._transport.close()

    def __enter__(self) -> Bonafide:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
