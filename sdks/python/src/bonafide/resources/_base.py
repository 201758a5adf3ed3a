"""What all resources have in common."""

from __future__ import annotations

import sys

from ..options import IdempotentRequestOptions, RequestOptions
from ..pages import Pages
from ..transport import Transport

if sys.version_info >= (3, 11):
    from typing import Unpack
else:
    from typing_extensions import Unpack

__all__ = ["IdempotentRequestOptions", "Pages", "RequestOptions", "Resource", "Unpack"]


class Resource:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport
