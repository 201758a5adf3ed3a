"""Searches in the sanctions lists of the account, by yente's API. A search decides nothing about an applicant."""

from __future__ import annotations

from collections.abc import Mapping

from ..generated.models import (
    Algorithms,
    Catalog,
    ListedEntity,
    ListSubject,
    ListVersions,
    MatchOptions,
    MatchResult,
    SearchOptions,
    SearchPage,
)
from ._base import Pages, RequestOptions, Resource, Unpack

ALL = "default"
"""All lists that apply to the account."""


class Lists(Resource):
    def match(
        self, queries: Mapping[str, ListSubject], *, dataset: str = ALL, **params: Unpack[MatchOptions]
    ) -> MatchResult:
        """Listed entities that resemble your subjects, at most 100, each under a name of your choice."""
        arguments = {"dataset": dataset, "queries": dict(queries), **params}
        return self._transport.json(MatchResult, "matchEntities", arguments)

    def search(
        self, text: str | None = None, *, dataset: str = ALL, **params: Unpack[SearchOptions]
    ) -> Pages[ListedEntity, SearchPage]:
        """Entities by text. The server returns at most the first 9,999 results and refuses further pages."""
        arguments = {"dataset": dataset, "q": text, **params}

        def load(cursor: str | None) -> SearchPage:
            further = {} if cursor is None else {"offset": int(cursor)}
            return self._transport.json(SearchPage, "searchLists", {**arguments, **further})

        def following(page: SearchPage) -> str | None:
            end = page["offset"] + len(page["results"])
            return str(end) if page["results"] and end < page["total"]["value"] else None

        return Pages(load, lambda page: page["results"], following)

    def entity(self, entity_id: str, **options: Unpack[RequestOptions]) -> ListedEntity:
        """One entity by its id."""
        return self._transport.json(ListedEntity, "getListedEntity", {"entity_id": entity_id, **options})

    def catalog(self, **options: Unpack[RequestOptions]) -> Catalog:
        """The lists that apply to the account."""
        return self._transport.json(Catalog, "getListCatalog", options)

    def algorithms(self, **options: Unpack[RequestOptions]) -> Algorithms:
        """The scoring algorithms."""
        return self._transport.json(Algorithms, "listAlgorithms", options)

    def versions(self, **options: Unpack[RequestOptions]) -> ListVersions:
        """The lists with their versions, also those that do not apply to the account."""
        return self._transport.json(ListVersions, "listLists", options)
