"""The live page: one file, which may load nothing but the events of its server."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

PAGE = Path(__file__).with_name("page.html").read_bytes()


def policy(page: bytes) -> dict[str, str]:
    """Return the headers of a page, by which a browser runs what is in it, and nothing else."""
    return {
        "content-security-policy": (
            f"default-src 'none'; script-src {_hashes(page, 'script')}; "
            f"style-src {_hashes(page, 'style')}; connect-src 'self'; img-src data:; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
    }


def _hashes(page: bytes, tag: str) -> str:
    """Return the hashes of the elements of a page, by which a browser allows them."""
    found = re.findall(rf"<{tag}>(.*?)</{tag}>".encode(), page, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(one).digest()).decode() for one in found]
    return " ".join(f"'sha256-{one}'" for one in hashes) or "'none'"


PAGE_HEADERS = policy(PAGE)
