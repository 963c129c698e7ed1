"""What requests and answers look like, and which are refused."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from crossview.errors import InputError

__all__ = [
    "LabelRequest",
    "LearnRequest",
    "PredictRequest",
    "RefusedError",
    "as_json",
    "decoded",
    "read_body",
    "read_row",
    "refusal_of",
]

MOST_BYTES = 8 << 20
MOST_ID = 200
MOST_ROWS = 10_000

_encoder = msgspec.json.Encoder()


class RefusedError(Exception):
    """A request that is refused: a status of HTTP, and why."""

    def __init__(self, status: int, message: str, **where: Any) -> None:
        super().__init__(message)
        self.status, self.message, self.where = status, message, where

    def body(self) -> dict[str, Any]:
        """Return what the answer says."""
        return {"error": self.message, **self.where}


class PredictRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Body of ``/predict``: one row, with an id or without, or many."""

    row: msgspec.Raw | UnsetType = UNSET
    rows: list[msgspec.Raw] | UnsetType = UNSET
    id: str | None = None


class LabelRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Body of ``/label``, or an entry of it."""

    id: str
    label: bool | int | float | str


class LearnRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Body of ``/learn``, or an entry of it."""

    row: msgspec.Raw
    label: bool | int | float | str
    id: str | None = None


_decoders: dict[Any, msgspec.json.Decoder] = {
    PredictRequest: msgspec.json.Decoder(PredictRequest),
    LabelRequest: msgspec.json.Decoder(LabelRequest | list[LabelRequest]),
    LearnRequest: msgspec.json.Decoder(LearnRequest | list[LearnRequest]),
}


def as_json(content: Any, status: int = 200, **headers: str) -> Response:
    """Return an answer."""
    return Response(_encoder.encode(content), status, headers or None, "application/json")


async def read_body(request: Request) -> bytes:
    """Return the body of a request; one that is no JSON, or too large, is refused."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # which no form of a foreign page can send
        raise RefusedError(415, "give the header content-type: application/json")
    too_large = RefusedError(413, f"a body has at most {MOST_BYTES >> 20} MB; send several")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > MOST_BYTES:
        raise too_large
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            raise too_large
        parts.append(part)
    return b"".join(parts)


def decoded(body: bytes, kind: Any) -> Any:
    """Return a body as a request, or the list of them that it is."""
    try:
        found = _decoders[kind].decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RefusedError(422, _reason(error)) from None
    many = found if isinstance(found, list) else [found]
    if isinstance(found, PredictRequest):
        if (found.row is UNSET) == (found.rows is UNSET):
            raise RefusedError(422, "give row, or rows for several")
        if found.rows is not UNSET and found.id is not None:
            raise RefusedError(422, "an id is for one row; leave it out with rows")
        many = many if isinstance(found.rows, UnsetType) else found.rows
    if len(many) > MOST_ROWS:
        raise RefusedError(413, f"at most {MOST_ROWS:,} rows or labels at once; send several")
    return found


def read_row(raw: msgspec.Raw) -> tuple[str, Any]:
    """Return a row as text and as names and values."""
    try:
        row = msgspec.json.decode(raw)
        text = bytes(raw).decode()
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RefusedError(422, _reason(error)) from None
    if not isinstance(row, dict):
        raise RefusedError(422, 'a row is an object of names and values, as {"user": {"age": 31}}')
    return text, row


def check_id(id_: str) -> None:
    """Refuse an id of the caller that cannot be kept."""
    if not 0 < len(id_) <= MOST_ID or not id_.isprintable():
        raise RefusedError(422, f"an id has 1 to {MOST_ID} characters that can be printed")


def refusal_of(error: InputError, **where: Any) -> RefusedError:
    """Return the refusal of what the model cannot take."""
    if error.column is not None:
        where["column"] = error.column
    return RefusedError(422, error.message, **where)


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "is nested too deeply"
    return " ".join(str(error).split())[:300]
