"""What requests and answers look like, and which are refused."""

from __future__ import annotations

import json
import math
import re
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from crossview.errors import InputError

MOST_BYTES, MOST_BYTES_TO_SKIP, MOST_BYTES_OF_MODEL = 8 << 20, 64 << 20, 1 << 30
MOST_ID = 200
# the escape of half of a character without the other half
_HALF = rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]"
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


_ROW = {"type": "object", "examples": [{"user": {"city": "Köln", "age": 31}}]}
Row = Annotated[
    msgspec.Raw,
    msgspec.Meta(
        description="Columns and values, by view or as view__column.", extra_json_schema=_ROW
    ),
]
# checked where it is read, so that one that is wrong is refused alone
Id = Annotated[str, msgspec.Meta(extra_json_schema={"minLength": 1, "maxLength": MOST_ID})]
Value = bool | int | float | str


class PredictRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Body of ``/predict``: one row, with an id or without, or many."""

    row: Row | UnsetType = UNSET
    rows: list[Row] | UnsetType = UNSET
    id: Id | None = None


class LabelRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Body of ``/label``, or an entry of it."""

    id: Id
    label: Value


class LearnRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Body of ``/learn``, or an entry of it."""

    row: Row
    label: Value
    id: Id | None = None


class PromoteRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Body of ``/promote``."""

    name: str


class DataFrame(msgspec.Struct, forbid_unknown_fields=True):
    """A table as pandas writes it, by ``to_dict(orient="split")``."""

    columns: list[str]
    data: list[list[Any]]
    index: Any = None


class InvocationsRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Body of ``/invocations``: one of these."""

    dataframe_split: DataFrame | UnsetType = UNSET
    dataframe_records: list[Row] | UnsetType = UNSET
    instances: list[Row] | UnsetType = UNSET


class Contribution(msgspec.Struct):
    """What a column contributes to the score of a row."""

    column: str
    contribution: float


class Explanation(msgspec.Struct):
    """What views and columns contribute to the score of a row.

    The score is that of a class, or the predicted number; a column contributes what the score
    loses without it.  The columns are those that contribute most.
    """

    score_of: Value | None
    views: dict[str, float]
    columns: list[Contribution]


class PredictAnswer(msgspec.Struct):
    """A prediction: of a class with probabilities, or of a number.

    ``unknown``: names in the row of which the model has no column, so that they were not used.
    """

    id: str
    prediction: Value | None
    probabilities: dict[str, float] | None
    model: int
    note: str | UnsetType = UNSET
    unknown: list[str] | UnsetType = UNSET
    explanation: Explanation | UnsetType = UNSET


class ErrorAnswer(msgspec.Struct):
    """Why a request, or a part of it, is refused."""

    error: str
    status: int | UnsetType = UNSET
    column: str | UnsetType = UNSET
    id: str | UnsetType = UNSET
    row: int | UnsetType = UNSET


class LabelAnswer(msgspec.Struct):
    """What became of a label: new, or known before; ``unknown`` as of a prediction."""

    id: str
    label: Literal["new", "known"]
    unknown: list[str] | UnsetType = UNSET


class PredictsAnswer(msgspec.Struct):
    """Predictions, in the order of the rows."""

    predictions: list[dict[str, Any]]


class LabelsAnswer(msgspec.Struct):
    """What became of each label."""

    labels: list[dict[str, Any]]


class InvocationsAnswer(msgspec.Struct):
    """Predictions, and the ids by which labels can be given; ``unknown`` is of all rows."""

    predictions: list[Value | None]
    ids: list[str]
    probabilities: list[dict[str, float] | None]
    unknown: list[str] | UnsetType = UNSET


_decoders: dict[Any, msgspec.json.Decoder] = {
    PredictRequest: msgspec.json.Decoder(PredictRequest),
    LabelRequest: msgspec.json.Decoder(LabelRequest | list[LabelRequest]),
    LearnRequest: msgspec.json.Decoder(LearnRequest | list[LearnRequest]),
    InvocationsRequest: msgspec.json.Decoder(InvocationsRequest),
    PromoteRequest: msgspec.json.Decoder(PromoteRequest),
}


# what messages say of a body of another form
FORMS: dict[Any, str] = {
    PredictRequest: '{"row": {...}}, with "id" if you like, or {"rows": [{...}, ...]}',
    LabelRequest: '{"id": ..., "label": text or a number}, or a list of them',
    LearnRequest: '{"row": {...}, "label": text or a number}, with "id" if you like, or a list',
    InvocationsRequest: "dataframe_split, dataframe_records or instances",
    PromoteRequest: '{"name": ...}',
}


def as_json(content: Any, status: int = 200, **headers: str) -> Response:
    """Return an answer."""
    return Response(_encoder.encode(content), status, headers or None, "application/json")


def header_of(request: Request, name: bytes) -> str:
    """Return a header of a request; "" if it has none."""
    for key, value in request.scope["headers"]:
        if key == name:
            return str(value, "latin-1")
    return ""


async def read_body(request: Request) -> bytes:
    """Return the body of a request; one that is no JSON, or too large, is refused."""
    _check_kind(request, "application/json")  # which no form of a foreign page can send
    size, body, more = 0, b"", True
    while more and size <= MOST_BYTES_TO_SKIP:  # who is cut off while sending reads no answer
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part, more = message.get("body", b""), message.get("more_body", False)
        size += len(part)
        if size <= MOST_BYTES:
            body = body + part if body else part
    if size <= MOST_BYTES:
        return body
    raise RefusedError(413, f"a body has at most {MOST_BYTES >> 20} MB; send several requests")


async def read_file(request: Request, path: Path) -> None:
    """Write the body of a request to a file."""
    _check_kind(request, "application/octet-stream")
    size = 0
    with path.open("wb") as file:
        async for part in request.stream():
            size += len(part)
            if size > MOST_BYTES_OF_MODEL:
                raise RefusedError(413, f"a model file has at most {MOST_BYTES_OF_MODEL >> 20} MB")
            file.write(part)


def _check_kind(request: Request, kind: str) -> None:
    given = header_of(request, b"content-type")
    if given != kind and given.partition(";")[0].strip().lower() != kind:
        raise RefusedError(415, f"give the header content-type: {kind}")


def decoded(body: bytes, kind: Any) -> Any:
    """Return a body as a request, or the list of them that it is."""
    try:
        found = _decoders[kind].decode(body)
    except msgspec.ValidationError as error:
        raise RefusedError(422, f"{_reason(error, body)}; give {FORMS[kind]}") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RefusedError(422, _reason(error, body)) from None
    many = found if isinstance(found, list) else [found]
    if isinstance(found, PredictRequest):
        if (found.row is UNSET) == (found.rows is UNSET):
            raise RefusedError(422, "give row, or rows for several")
        if found.rows is not UNSET and found.id is not None:
            raise RefusedError(422, "an id is for one row; leave it out with rows")
        many = many if isinstance(found.rows, UnsetType) else found.rows
    if isinstance(found, InvocationsRequest):
        many = rows_of(found)
    if len(many) > MOST_ROWS:
        raise RefusedError(
            413, f"at most {MOST_ROWS:,} rows or labels at once; send several requests"
        )
    return found


def rows_of(asked: InvocationsRequest) -> list[msgspec.Raw]:
    """Return the rows of a request in the form of MLflow and SageMaker."""
    given = [asked.dataframe_split, asked.dataframe_records, asked.instances]
    found = [one for one in given if not isinstance(one, UnsetType)]
    if len(found) != 1:
        raise RefusedError(422, "give one of dataframe_split, dataframe_records and instances")
    (table,) = found
    if isinstance(table, list):
        return table
    columns = table.columns
    if len({*columns}) < len(columns):
        raise RefusedError(422, "a column of dataframe_split comes twice")
    for number, row in enumerate(table.data):
        if len(row) != len(columns):
            words = f"the row has {len(row)} values, and there are {len(columns)} columns"
            raise RefusedError(422, words, row=number)
    return [
        msgspec.Raw(_encoder.encode(dict(zip(columns, row, strict=True)))) for row in table.data
    ]


def read_row(raw: msgspec.Raw) -> tuple[str, Any]:
    """Return a row as text and as names and values."""
    try:
        row = msgspec.json.decode(raw)
        text = bytes(raw).decode()
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RefusedError(422, _reason(error, bytes(raw))) from None
    if not isinstance(row, dict):
        raise RefusedError(422, 'a row is an object of names and values, as {"user": {"age": 31}}')
    n_names = len(row) + sum(len(own) for own in row.values() if isinstance(own, dict))
    if text.count(":") > n_names:  # or in a text
        json.loads(text, object_pairs_hook=_unique)
    return text, row


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; a name that comes twice, of which one would win, is refused."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        raise RefusedError(422, f"the name {twice!r:.200} comes twice in an object; give it once")
    return found


def check_id(id_: str) -> None:
    """Refuse an id of the caller that cannot be kept."""
    if not 0 < len(id_) <= MOST_ID or not id_.isprintable():
        raise RefusedError(422, f"an id has 1 to {MOST_ID} characters that can be printed")


def refusal_of(error: InputError, **where: Any) -> RefusedError:
    """Return the refusal of what the model cannot take."""
    if error.column is not None:
        where["column"] = error.column
    return RefusedError(422, error.message, **where)


def fault_of(error: Exception) -> str:
    """Return an error that is a bug in one line, with the place in this package that raised it."""
    package = Path(__file__).parents[2]
    words = " ".join(f"{type(error).__name__}: {error}".split())
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if package in (file := Path(frame.filename)).parents:
            return f"{words} ({file.relative_to(package).as_posix()}, line {frame.lineno})"
    return words


def _reason(error: Exception, body: bytes) -> str:
    """Return why a body is no JSON, with the place, or has another form."""
    if isinstance(error, RecursionError):
        return "is nested too deeply"
    if body.startswith(b"\x1f\x8b"):
        return "the body is compressed; send JSON as it is"
    words = " ".join(str(error).split())[:300]
    if isinstance(error, UnicodeError) or words.startswith("Invalid UTF-8"):
        return "the body is not UTF-8"
    if re.search("surrogate|truncated|escape", words) and re.search(_HALF, body):
        return "half of a character, as \\ud83d without the one that follows: send both, or UTF-8"
    if words == "Input data was truncated":
        return "the body ends before the JSON does" if body.strip() else "the body is empty"
    if re.match(r"(Number|Integer value) out of range - at `\$\[", words):
        for number in re.findall(r"-?\d[\d.eE+-]*", body.decode(errors="replace")):
            with suppress(ValueError):
                if math.isinf(float(number)):
                    return f"{number:.60} is too large: write null, or a number up to 1e+100"
    if (place := re.search(r"\(byte (\d+)\)$", words)) is not None:
        found = body[int(place[1]) :][:20].decode(errors="replace")
        words += f", at {found!r}"
        if re.match("NaN|Inf|nan|inf", found):
            words += "; JSON has no NaN and no infinity: write null"
        if found[:1] in ("\ufeff", "\ufffd"):
            words += "; send UTF-8, without a byte order mark"
    return words
