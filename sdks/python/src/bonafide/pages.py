"""Lists that the server returns in pages. A page is requested only when it is needed, and no entry is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")
Page = TypeVar("Page")


class Pages(Generic[Item, Page]):
    """
    A list in pages. Iterate over its entries, or over whole pages with `pages()`. Nothing is requested before that, and
    each iteration starts at the first page.
    """

    def __init__(
        self,
        load: Callable[[str | None], Page],
        items: Callable[[Page], Sequence[Item]],
        following: Callable[[Page], str | None],
    ) -> None:
        """`load` receives the cursor of a page, None for the first one. `following` returns that of the next page."""
        self._load = load
        self._items = items
        self._following = following

    def first(self) -> Page:
        """The first page, as the server sends it."""
        return self._load(None)

    def pages(self) -> Iterator[Page]:
        """All pages."""
        cursor: str | None = None
        while True:
            page = self._load(cursor)
            yield page
            cursor = self._following(page)
            if cursor is None:
                return

    def __iter__(self) -> Iterator[Item]:
        """All entries."""
        for page in self.pages():
            yield from self._items(page)
