"""Flows: configurations of a verification. They are created in the portal or by the operator, not by the API."""

from __future__ import annotations

import builtins
import json
from typing import Any, cast

from ..generated.models import Flow, FlowChanges, FlowList, Message
from ._base import RequestOptions, Resource, Unpack

_IN_STRINGS = ("defaultFields", "defaultDocumentTypes", "countryOverrides", "geoBlockedCountries")


class Flows(Resource):
    def list(self, **options: Unpack[RequestOptions]) -> builtins.list[Flow]:
        """All Flows of the account, newest first."""
        return [_decoded(flow) for flow in self._transport.json(FlowList, "listFlows", options)["flows"]]

    def get(self, flow_id: str, **options: Unpack[RequestOptions]) -> Flow:
        return _decoded(self._transport.json(Flow, "getFlow", {"flow_id": flow_id, **options}))

    def update(self, flow_id: str, **changes: Unpack[FlowChanges]) -> Flow:
        """Changes a Flow. A member that you send replaces the stored one; others are unchanged."""
        return _decoded(self._transport.json(Flow, "updateFlow", {"flow_id": flow_id, **changes}))

    def delete(self, flow_id: str, **options: Unpack[RequestOptions]) -> None:
        """Deletes a Flow permanently. It leaves every Group."""
        self._transport.json(Message, "deleteFlow", {"flow_id": flow_id, **options})


def _decoded(flow: Flow) -> Flow:
    """The Flow with the four members that the server sends as JSON inside strings."""
    sent = cast("dict[str, Any]", flow)
    return cast(Flow, {**sent, **{name: json.loads(sent[name]) for name in _IN_STRINGS if name in sent}})
