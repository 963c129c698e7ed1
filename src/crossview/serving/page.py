"""The live page: one file, which may load nothing but the events of its server."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

__all__ = ["PAGE", "PAGE_HEADERS"]

PAGE = Path(__file__).with_name("page.html").read_bytes()


def _hashes(tag: str) -> str:
    """Return the hashes of the elements of the page, by which a browser allows them."""
    found = re.findall(rf"<{tag}>(.*?)</{tag}>".encode(), PAGE, re.DOTALL)
    return " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(one).digest()).decode()}'" for one in found
    )


PAGE_HEADERS = {
    "content-security-policy": (
        f"default-src 'none'; script-src {_hashes('script')}; style-src {_hashes('style')}; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
