"""Where the log of a server is: in a folder, or at the address of a database."""

from __future__ import annotations

from typing import Any, TypeGuard

__all__ = ["LOG", "has_password", "is_address"]

# in a folder
LOG = "log.sqlite"
SCHEMES = ("postgresql://", "postgres://")


def is_address(where: Any) -> TypeGuard[str]:
    """Return whether it is the address of a database, and no path."""
    return isinstance(where, str) and where.startswith(SCHEMES)


def has_password(address: str) -> bool:
    """Return whether an address has a password."""
    from urllib.parse import parse_qs, urlsplit

    parts = urlsplit(address)
    return parts.password is not None or "password" in parse_qs(parts.query)
