"""Fixtures of several tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from stub import Stub, serving


@pytest.fixture(scope="module")
def server_of_stub() -> Iterator[Stub]:
    with serving() as stub:
        yield stub


@pytest.fixture
def stub(server_of_stub: Stub) -> Stub:
    server_of_stub.steps.clear()
    return server_of_stub


@pytest.fixture
def delays(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The delays before retries and between polls, which the client does not wait."""
    waited: list[float] = []
    monkeypatch.setattr("time.sleep", waited.append)
    return waited
