"""What the endpoints take and answer: the OpenAPI document, and a page of it."""

from __future__ import annotations

import html
import json
from typing import Any, NamedTuple

import msgspec

from crossview.serving.endpoints.page import policy
from crossview.serving.endpoints.requests import (
    ErrorAnswer,
    InvocationsAnswer,
    InvocationsRequest,
    LabelAnswer,
    LabelRequest,
    LabelsAnswer,
    LearnRequest,
    PredictAnswer,
    PredictRequest,
    PredictsAnswer,
    PromoteRequest,
)


class Operation(NamedTuple):
    """An endpoint: what it is for, its body and answer, statuses of errors, and parameters."""

    method: str
    path: str
    summary: str
    body: Any = None
    answers: tuple[Any, ...] = ()  # one of these
    errors: tuple[int, ...] = ()
    query: tuple[tuple[str, str], ...] = ()
    kind: str = "application/json"
    takes: str = "application/json"
    named: bool = False  # a parameter has the name of a challenger


# the parameter that is a number, and not 0 or 1
TOP = "top"
_SWITCHES = (
    ("durable", "1: answer once the prediction is on disk"),
    ("explain", "1: add what each view and column contributes to the score; of at most 64 rows"),
    (TOP, "a number: the probabilities of so many classes only, the highest first"),
)
_BAD = (400, 401, 403, 413, 415, 422, 429, 503)
_JSON = (dict,)
OPERATIONS = [
    Operation(
        "post",
        "/predict",
        "Predict a row, or several.",
        PredictRequest,
        (PredictAnswer, PredictsAnswer),
        (207, *_BAD, 409),
        _SWITCHES,
    ),
    Operation(
        "post",
        "/label",
        "Give the labels of predictions. Answered once they are on disk.",
        LabelRequest | list[LabelRequest],
        (LabelAnswer, LabelsAnswer),
        (207, *_BAD, 404, 409, 410),
    ),
    Operation(
        "post",
        "/learn",
        "Learn rows with their labels. Answered once they are on disk.",
        LearnRequest | list[LearnRequest],
        (LabelAnswer, LabelsAnswer),
        (207, *_BAD, 409),
    ),
    Operation(
        "post",
        "/invocations",
        "Predict rows in the form of MLflow and SageMaker: all, or none.",
        InvocationsRequest,
        (InvocationsAnswer,),
        _BAD,
    ),
    Operation(
        "get",
        "/model",
        "The model file as it is now.",
        errors=(401, 403, 404, 503),
        kind="application/octet-stream",
    ),
    Operation("post", "/snapshot", "Write the model now.", None, _JSON, (401, 403, 503)),
    Operation(
        "post",
        "/challenger",
        "Compare another model, of a file, with the one that is served.",
        bytes,
        _JSON,
        (400, 401, 403, 409, 413, 415, 422, 503),
        (("frozen", "1: it learns nothing"),),
        takes="application/octet-stream",
        named=True,
    ),
    Operation(
        "delete",
        "/challenger",
        "Let a challenger leave.",
        None,
        _JSON,
        (400, 401, 403, 404, 503),
        named=True,
    ),
    Operation(
        "post",
        "/promote",
        "Serve a challenger from now on; the model that was served becomes one.",
        PromoteRequest,
        _JSON,
        (400, 401, 403, 404, 409, 413, 415, 422, 503),
    ),
    Operation("get", "/stats", "Counts, losses and accuracy.", None, _JSON, (401, 403)),
    Operation("get", "/metrics", "The same for Prometheus.", errors=(401, 403), kind="text/plain"),
    Operation(
        "get",
        "/events",
        "Numbers of the page, every second.",
        errors=(401, 403, 429),
        kind="text/event-stream",
    ),
    Operation("get", "/healthz", "The process answers.", None, _JSON),
    Operation("get", "/readyz", "Requests are taken, or why not.", None, _JSON, (503,)),
    Operation("get", "/ping", "The same, as SageMaker asks.", None, _JSON, (503,)),
    Operation("get", "/", "The page.", kind="text/html"),
    Operation("get", "/docs", "This document as a page.", kind="text/html"),
    Operation("get", "/openapi.json", "This document.", None, _JSON),
]
STATUSES = {
    207: "Some parts are refused, each with its own status",
    400: "The request was cut off",
    401: "The token is missing, or another one",
    403: "The host is named by neither its address nor localhost",
    404: "There is none",
    409: "It has another label, or another row, already",
    410: "It has waited too long for its label",
    413: "More than 8 MB, or 10,000 rows",
    415: "The body is no application/json",
    422: "It cannot be taken, and why",
    429: "Too much waits; try again",
    503: "Nothing can be written; try again",
}


def _document() -> dict[str, Any]:
    """Return the document, with the schemas of what is decoded and encoded."""
    kinds = [ErrorAnswer]
    for each in OPERATIONS:
        kinds += [*([] if each.body in (None, bytes) else [each.body]), *each.answers]
    found, components = msgspec.json.schema_components(
        kinds, ref_template="#/components/schemas/{name}"
    )
    # what types do not say: one of these fields
    for name, fields in (
        ("PredictRequest", ("row", "rows")),
        ("InvocationsRequest", ("dataframe_split", "dataframe_records", "instances")),
    ):
        components[name]["oneOf"] = [{"required": [field]} for field in fields]
    schemas = dict(zip(map(str, kinds), found, strict=True))
    refusal = schemas[str(ErrorAnswer)]
    paths: dict[str, Any] = {}
    for one in OPERATIONS:
        own = [schemas[str(kind)] for kind in one.answers]
        done = {one.kind: {"schema": _any_of(own)} if own else {}}
        answers: dict[str, Any] = {"200": {"description": "Done", "content": done}}
        for status in sorted(one.errors):
            # where all parts of a request are refused, each says why
            possible = own if status == 207 else [refusal, *(own if 207 in one.errors else [])]
            content = {"application/json": {"schema": _any_of(possible)}}
            answers[str(status)] = {"description": STATUSES[status], "content": content}
        entry: dict[str, Any] = {"summary": one.summary, "responses": answers}
        entry["operationId"] = one.path.strip("/").replace(".", "_") or "page"
        if one.method == "delete":
            entry["operationId"] += "_delete"
        if one.body is not None:
            schema = schemas[str(one.body)] if one.body is not bytes else {"type": "string"}
            content = {one.takes: {"schema": schema}}
            entry["requestBody"] = {"required": True, "content": content}
        if one.named:
            text = "What it is called: letters, digits, '_', '-' and '.'"
            schema = {"type": "string", "pattern": "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,59}$"}
            entry["parameters"] = [
                {
                    "name": "name",
                    "in": "query",
                    "required": True,
                    "description": text,
                    "schema": schema,
                }
            ]
        if one.query:
            entry["parameters"] = entry.get("parameters", []) + [
                {
                    "name": name,
                    "in": "query",
                    "description": text,
                    "schema": {"type": "integer", "minimum": 1}
                    if name == TOP
                    else {"type": "string", "enum": ["0", "1"]},
                }
                for name, text in one.query
            ]
        if one.path not in ("/", "/docs", "/openapi.json", "/healthz", "/readyz", "/ping"):
            entry["security"] = [{"token": []}, {}]
        paths.setdefault(one.path, {})[one.method] = entry
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Crossview",
            "version": "1",
            "description": "A model that predicts rows, waits for their labels, and learns them.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _any_of(schemas: list[Any]) -> Any:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


_STYLE = """
:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 860px; padding: 1.25rem 1rem 3rem;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h2 { font-size: 1.1rem; margin: 2rem 0 .25rem; }
pre { overflow-x: auto; padding: .6rem; background: light-dark(#f4f6f8, #1d232a); font-size: 13px; }
p, ul { margin: 0 0 .5rem; }
"""


def _page(document: dict[str, Any]) -> bytes:
    """Return the document as a page that loads nothing."""
    parts = []
    for path, methods in document["paths"].items():
        for method, entry in methods.items():
            parts.append(f"<h2>{method.upper()} {html.escape(path)}</h2>")
            parts.append(f"<p>{html.escape(entry['summary'])}</p>")
            for one in entry.get("parameters", ()):
                parts.append(f"<p>?{one['name']}= {html.escape(one['description'])}</p>")
            if "application/json" in entry.get("requestBody", {}).get("content", ()):
                parts.append(_schema("Body", entry["requestBody"]["content"]))
            for status, answer in entry["responses"].items():
                if status == "200" and answer["content"].get("application/json"):
                    parts.append(_schema("Answer", answer["content"]))
                elif status != "200":
                    parts.append(f"<p>{status}: {html.escape(answer['description'])}</p>")
    parts.append("<h2>Schemas</h2>")
    for name, schema in document["components"]["schemas"].items():
        parts.append(f"<h3 id='{name}'>{name}</h3>{_code(schema)}")
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Crossview: requests</title><style>{_STYLE}</style><h1>Requests</h1>"
        f"<p>{html.escape(document['info']['description'])} "
        'As a document: <a href="openapi.json">openapi.json</a>.</p>' + "".join(parts)
    ).encode()


def _schema(title: str, content: dict[str, Any]) -> str:
    return f"<details><summary>{title}</summary>{_code(content['application/json'])}</details>"


def _code(value: Any) -> str:
    return f"<pre>{html.escape(json.dumps(value, indent=1))}</pre>"


_FOUND = _document()
DOCUMENT = msgspec.json.encode(_FOUND)
DOCUMENT_PAGE = _page(_FOUND)
DOCUMENT_HEADERS = policy(DOCUMENT_PAGE)
