"""Groups: named collections of Flows, and the scope in which one face registers once."""

from __future__ import annotations

import builtins

from ..generated.models import Group, GroupChanges, GroupList, Message, NewGroup
from ._base import RequestOptions, Resource, Unpack


class Groups(Resource):
    def list(self, **options: Unpack[RequestOptions]) -> builtins.list[Group]:
        """All Groups of the account, newest first."""
        return self._transport.json(GroupList, "listGroups", options)["groups"]

    def create(self, **group: Unpack[NewGroup]) -> Group:
        """Creates a Group. Ids of Flows that are not yours are ignored, so check `flows`."""
        return self._transport.json(Group, "createGroup", group)

    def get(self, group_id: str, **options: Unpack[RequestOptions]) -> Group:
        return self._transport.json(Group, "getGroup", {"group_id": group_id, **options})

    def update(self, group_id: str, **changes: Unpack[GroupChanges]) -> Group:
        """Changes a Group. `flow_ids` replaces the whole list."""
        return self._transport.json(Group, "updateGroup", {"group_id": group_id, **changes})

    def delete(self, group_id: str, **options: Unpack[RequestOptions]) -> None:
        """Deletes a Group. Its Flows remain."""
        self._transport.json(Message, "deleteGroup", {"group_id": group_id, **options})
