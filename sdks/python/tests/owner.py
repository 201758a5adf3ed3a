"""
An owner of the demo account, who joins in the portal, sets up an authenticator app, and permits an API key to act on
people, as a browser without scripts would.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import time

import httpx
from sandbox import Sandbox

ACTS = ["read-evidence", "decide", "erase", "export"]


def permit_key(sandbox: Sandbox) -> str:
    """Permits the demo account's key everything. It returns the id of the responsible member, the owner."""
    password = secrets.token_hex(12)
    with httpx.Client(base_url=sandbox.base_url) as browser:

        def send(path: str, form: dict[str, str | list[str]] | None = None) -> str:
            if form is None:
                response = browser.get(path)
            else:
                response = browser.post(path, data=form, headers={"origin": sandbox.base_url})
            assert response.status_code < 400, f"{path}: {response.status_code} {response.text}"
            return response.text

        send(sandbox.owner(), {"name": "Robin Example", "email": "robin@example.com", "password": password})
        key = _part(send("/portal/account/totp"), r'name="key" value="([A-Z2-7]+)"')
        send("/portal/account/totp", {"key": key, "code": _totp(key), "proof": password})
        permissions = f"/portal/keys/{sandbox.demo['apiKey']}/permissions"
        owner = _part(send(permissions), r'name="reviewers" value="([^"]+)"')
        send(permissions, {"acts": ACTS, "reviewers": [owner]})
        return owner


def _part(page: str, pattern: str) -> str:
    found = re.search(pattern, page)
    assert found, f"{pattern} is not in {page}"
    return found[1]


def _totp(key: str) -> str:
    """The current code of an authenticator app (RFC 6238: SHA-1, 30 seconds, 6 digits)."""
    secret = base64.b32decode(key + "=" * (-len(key) % 8))
    counter = int(time.time() // 30).to_bytes(8, "big")
    digest = hmac.new(secret, counter, hashlib.sha1).digest()
    start = digest[-1] & 15
    code = int.from_bytes(digest[start : start + 4], "big") & 0x7FFFFFFF
    return f"{code % 1_000_000:06}"
