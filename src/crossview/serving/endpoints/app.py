"""The endpoints, and the task that learns.

All of the model happens in one thread, that of the event loop: requests are answered between short
micro-batches, so that no prediction sees a model that is half learned.  The `Writer` has another
process commit.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import os
import tempfile
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from crossview.errors import InputError
from crossview.server_log.databases import AwayError
from crossview.server_log.log import (
    FIRST_NAME,
    JOIN,
    LATE,
    LEAVE,
    OWN_ID,
    PROMOTE,
    Event,
    Log,
    Newest,
    Prediction,
    own_id,
)
from crossview.serving.beginning import FEWEST_LABELS
from crossview.serving.challengers import check_name
from crossview.serving.endpoints.document import DOCUMENT, DOCUMENT_HEADERS, DOCUMENT_PAGE
from crossview.serving.endpoints.page import PAGE, PAGE_HEADERS
from crossview.serving.endpoints.requests import (
    Explanation,
    InvocationsRequest,
    LabelRequest,
    LearnRequest,
    PredictRequest,
    PromoteRequest,
    RefusedError,
    as_json,
    check_id,
    decoded,
    fault_of,
    header_of,
    read_body,
    read_file,
    read_row,
    refusal_of,
    rows_of,
)
from crossview.serving.live import Answer, LiveModel, class_name
from crossview.serving.monitor import HOUR, Monitor
from crossview.serving.scores import Point
from crossview.serving.storage.commits import CONFLICT, EXPIRED, KNOWN, NEW, UNKNOWN, Entry
from crossview.serving.storage.folder import Folder, catch_up, next_of
from crossview.serving.storage.writer import NotWrittenError, Writer

# of one micro-batch; labels that come meanwhile are in the next one
MOST_LABELS, MOST_SECONDS = 256, 0.02
# for which requests wait while labels are learned
SECONDS_AT_ONCE = 0.005
# rows of one request that are predicted before others have their turn, or explained
ROWS_AT_ONCE, MOST_EXPLAINED = 128, 64
# names that are of no column, and their characters, in the answer to a row
MOST_UNKNOWN, MOST_OF_NAME = 20, 100
# for which a request waits where too many records wait for the disk
SECONDS_FOR_ROOM = 0.5
# between two looks at a log that other servers write, or that is away, and at who leads
SECONDS_TO_FOLLOW, SECONDS_TO_RETRY, SECONDS_TO_LEAD = 0.05, 0.25, 1.0
# for which a label waits for its prediction, which another server has answered and not yet logged
SECONDS_FOR_OTHERS = 1.0
# rows that are looked at, or removed, at a time
AT_ONCE = 500
# between two looks at the newest rows, and pages that are open at a time
SECONDS_TO_LOOK = 2.0
MOST_STREAMS = 20
STATUS = {NEW: 200, KNOWN: 200, CONFLICT: 409, UNKNOWN: 404, EXPIRED: 410}
WORDS = {
    CONFLICT: "has another label already, or another row",
    UNKNOWN: "no prediction has this id",
    EXPIRED: "this prediction has waited too long for its label, and was dropped",
}


@dataclass
class Settings:
    """How a server behaves.

    tokens: by role: "predict", "label", and "operator", who may do all; empty: everybody may.
    local: whether only this machine may ask: then the host that a request names is an address or
      localhost, and not a name that a web page has made to lead here.
    new_classes: whether a label may be of a class that the model does not have.
    most_waiting: records that wait for a commit, at most.
    wait: seconds after which no label is expected any more; None: it always is.
    no_label: the class, by its name, that a row without a label is then learned as; "negative" is
      the one that is not the positive class of two.  None: it is dropped.
    keep: seconds after which rows and labels are removed from the log; None: never.
    tend_seconds: between two looks for rows that have waited, or are removed.
    snapshot_labels, snapshot_seconds: a snapshot is written after so many labels, or so many
      seconds with a label.
    name: what this server is called among those of one log.
    """

    tokens: dict[str, str] = field(default_factory=dict)
    local: bool = False
    new_classes: bool = False
    most_waiting: int = 20_000
    wait: float | None = None
    no_label: str | None = None
    keep: float | None = None
    tend_seconds: float = 10.0
    snapshot_labels: int = 10_000
    snapshot_seconds: float = 60.0
    name: str = "server"


class Serving:
    """A model, its log, and the endpoints.

    folder: its files, and the lock of the server that leads.
    log: for reading; another process writes.
    live: it has learned all labels of the log.
    say: gets what the operator should know, a line each.
    """

    def __init__(
        self,
        folder: Folder,
        log: Log,
        live: LiveModel,
        say: Callable[[str], None],
        settings: Settings,
    ) -> None:
        self.folder, self.log, self.live = folder, log, live
        self.settings, self._say = settings, say
        self._next = log.begin_run()
        counts = log.counts()
        catch_up(live, log, counts.labels)
        self.n_labels, self.n_predictions = counts.labels, counts.predictions
        self._n_late = counts.labels - counts.labeled  # those learned already
        self.broken: str | None = None
        self.away: str | None = None
        self.leads, self.leader = False, self.log.newest().leader
        self._events: str | None = None
        self._waited: dict[int, int] = {}  # by run, what was looked at
        self._said = ""
        self.writer: Writer
        self._new_labels = asyncio.Event()
        self._alone = asyncio.Lock()  # learning, reading the log, and writing the model
        self._publishing = asyncio.Lock()
        self._at_once = 1  # labels that are learned while requests wait
        self._in_snapshot = live.in_snapshot
        self._snapshot_time = self._began = time.monotonic()
        self._metrics = Metrics(self)
        self.monitor = Monitor(live)
        self._streams = 0
        self.is_ending = False
        routes = [  # which are tried in this order
            self._route("/predict", self.predict, "predict"),
            self._route("/invocations", self.invocations, "predict"),
            self._route("/label", self.label, "label"),
            self._route("/learn", self.learn, "label"),
            self._route("/snapshot", self.snapshot, "operator"),
            self._route("/challenger", self.join, "operator"),
            self._route("/challenger", self.leave, "operator", "DELETE"),
            self._route("/promote", self.promote, "operator"),
            self._route("/model", self.model_file, "operator", "GET"),
            self._route("/stats", self.stats, "operator", "GET"),
            self._route("/metrics", self.metrics, "operator", "GET"),
            self._route("/healthz", self.health, None, "GET"),
            self._route("/readyz", self.ready, None, "GET"),
            Route("/", self.page, methods=["GET"]),
            self._route("/events", self.events, "operator", "GET"),
            Route("/openapi.json", self.document, methods=["GET"]),
            Route("/docs", self.document_page, methods=["GET"]),
            self._route("/ping", self.ready, None, "GET"),
        ]
        self.endpoints = {
            (method, route.path): route.endpoint
            for route in routes
            for method in route.methods or ()
            if method != "HEAD"
        }
        self._others = Starlette(
            routes=routes,
            lifespan=self._lifespan,
            exception_handlers={404: _no_endpoint, 405: _no_endpoint},
        )

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request: at once if an endpoint has its path, or by what Starlette has."""
        answer: Any = self._others
        if scope["type"] == "http":
            endpoint = self.endpoints.get((scope["method"], scope["path"]))
            if endpoint is not None:
                answer = await endpoint(Request(scope, receive))
        await answer(scope, receive, send)

    # --- life ----------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        most = self.settings.most_waiting
        wait = None if self.settings.no_label is not None else self.settings.wait
        self.writer = Writer(self.folder.where, self._on_commit, most, wait)
        await self._lead()
        await self._snapshot_if_due()  # or a server that is killed again and again learns ever more
        jobs = [self._learn_forever()]
        if self.folder.is_shared:
            jobs.append(self._follow_forever())
        jobs = [self._needed(one) for one in jobs]
        jobs += [self._look_forever(), self._lead_forever(), self._tend_forever()]
        tasks = [asyncio.create_task(one) for one in jobs]
        try:
            yield
        finally:
            self.is_ending = True
            for task in tasks:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
            if self.broken is None and self.leads:
                await self._write_snapshot()
            await self.writer.close()

    async def _needed(self, job: Coroutine[Any, Any, None]) -> None:
        """Do something without which labels are not learned; if it ends, no request is taken."""
        try:
            await job
        except Exception as error:
            self.broken = str(error) if isinstance(error, InputError) else fault_of(error)
            self._say(f"error: learning has ended: {self.broken}")

    def _on_commit(self, newest: Newest) -> None:
        """Note how far the log is."""
        self.n_predictions = max(self.n_predictions, newest.predictions)
        self.leader = newest.leader
        if newest.labels > self.n_labels or newest.events != self._events:
            self.n_labels = max(self.n_labels, newest.labels)
            self._events = newest.events
            self._new_labels.set()

    async def _follow_forever(self) -> None:
        """Note how far the log is now and then, as other servers write it."""
        while True:
            self._on_commit(await self._persistently(self.log.newest))
            await asyncio.sleep(SECONDS_TO_FOLLOW)

    async def _persistently(self, what: Callable[..., Any], *arguments: Any) -> Any:
        """Run something that uses the log, and changes nothing if that is away, until it works."""
        while True:
            try:
                found = await asyncio.to_thread(what, *arguments)
            except AwayError as error:
                self.away = str(error)
                await asyncio.sleep(SECONDS_TO_RETRY)
            else:
                self.away = None
                return found

    async def _lead_forever(self) -> None:
        """Lead, if no other server does."""
        while True:
            await asyncio.sleep(SECONDS_TO_LEAD)
            await self._lead()

    async def _lead(self) -> None:
        leads = False
        with self._saying(), contextlib.suppress(NotWrittenError):
            found = await asyncio.to_thread(self.folder.files.try_to_lead)
            if found and not self.leads:
                await self._work(Log.set_leader, self.settings.name)
                if self.folder.is_shared:
                    self._say(f"{self.settings.name} leads: it writes snapshots")
            leads = found
        self.leads = leads

    async def _learn_forever(self) -> None:
        """Learn labels when they were committed, and write snapshots."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.settings.snapshot_seconds):
                    await self._new_labels.wait()
            self._new_labels.clear()
            before = self.live.served.labels
            async with self._alone:
                await self._learn_committed()
            await self._snapshot_if_due()
            if self.live.served.labels > before:
                await asyncio.sleep(MOST_SECONDS)  # what comes meanwhile is learned together

    async def _learn_committed(self) -> None:
        """Learn what is in the log, in pieces between which requests are answered."""
        live = self.live
        while True:
            records, events = await self._persistently(next_of, live, self.log, MOST_LABELS)
            for event in events:
                await self._apply(event)
            if not (records or events):
                return
            while records:
                some, records = records[: self._at_once], records[self._at_once :]
                began, n_refused = time.perf_counter(), live.served.refused
                live.learn(some)
                if live.served.refused > n_refused:
                    self._say_anew(f"warning: {live.refusal}")
                # which other servers may have written since the last look at the log
                self.n_labels = max(self.n_labels, live.served.labels)
                for record in some:
                    self.monitor.add_label(record.of, record.label.label, record.label.time)
                    self._n_late += record.label.kind == LATE
                took = time.perf_counter() - began
                self._metrics.learning.observe(took)
                if took > SECONDS_AT_ONCE:
                    self._at_once = max(1, len(some) // 2)
                elif took < SECONDS_AT_ONCE / 2:
                    self._at_once = min(MOST_LABELS, max(self._at_once, 2 * len(some)))
                await asyncio.sleep(0)
            if live.served.labels - self._in_snapshot >= self.settings.snapshot_labels:
                self._new_labels.set()  # there may be more, after the snapshot
                return

    async def _apply(self, event: Event) -> None:
        """Let an event of the log happen, between two predictions."""
        assert self.live.apply is not None
        if event.kind == JOIN:  # which reads a file, and changes nothing that predicts
            await self._persistently(self.live.apply, event)
        else:
            self.live.apply(event)
        words = {JOIN: "joined", LEAVE: "left", PROMOTE: "is served from now on"}
        frozen = event.kind == PROMOTE and self.live.is_frozen
        more = "; it is frozen: it learns nothing" if frozen else ""
        self._say(f"challenger {event.name} {words[event.kind]}, after {event.at:,} labels{more}")

    async def _tend_forever(self) -> None:
        """Learn rows that no label came for, and remove old ones, now and then."""
        while self.settings.wait is not None or self.settings.keep is not None:
            await asyncio.sleep(self.settings.tend_seconds)
            if not self.leads:
                continue
            with self._saying(), contextlib.suppress(NotWrittenError):
                if self.settings.wait is not None and self.settings.no_label is not None:
                    await self._assume_labels(self.settings.wait, self.settings.no_label)
                if self.settings.keep is not None:
                    await self._remove_old(self.settings.keep)

    @contextlib.contextmanager
    def _saying(self) -> Iterator[None]:
        """Say an error in place of raising it, if it is another one than the last time."""
        try:
            yield
        except InputError as error:
            self._say_anew(f"warning: {error}")
        except Exception as error:  # a bug; what failed is tried again
            self._say_anew(f"error: {fault_of(error)}")

    def _say_anew(self, line: str) -> None:
        """Say a line, if it is another one than the last time."""
        if line != self._said:
            self._said = line
            self._say(line)

    async def _assume_labels(self, wait: float, name: str) -> None:
        """Have rows learned that have waited, as if a label had come."""
        label = self.live.find_class(name)
        if label is None:
            return  # it has no classes yet
        text = msgspec.json.encode(label).decode()
        until = int((time.time() - wait) * 1e6)
        for run in await self._read(self.log.runs):
            last = -1
            while last != (at := self._waited.get(run, run - 1)):
                last, found = await self._read(self.log.unlabeled, at, until, AT_ONCE)
                if found:
                    await self.writer.write(Entry(assumed=[(one.id, text) for one in found]))
                self._waited[run] = last

    async def _remove_old(self, keep: float) -> None:
        """Remove rows and labels of the log that are old, some at a time."""
        until = int((time.time() - keep) * 1e6)
        oldest = await self._read(self.log.oldest_label)
        if oldest is not None and oldest.time < until:
            # a replay begins with a model that has learned what is removed
            base = await self._read(self.log.base)
            if base is None or base[0] < oldest.sequence:
                await self._write_snapshot()
                base = await self._read(self.folder.write_base)
                if base is not None:
                    await self._work(Log.set_base, *base)
                    await self._read(self.folder.remove_bases, self.log)
            removed = 1
            while base is not None and removed:
                removed = await self._work(Log.remove_labels, until, base[0], AT_ONCE)
        for run in await self._read(self.log.runs):
            at, last = -1, run - 1
            while last != at:
                at = last
                last, found = await self._read(self.log.unlabeled, at, until, AT_ONCE)
                if found:
                    old = [one.sequence for one in found]
                    await self._work(Log.remove_predictions, old)

    async def _read(self, what: Callable[..., Any], *arguments: Any) -> Any:
        """Read the log while nobody else does."""
        async with self._alone:
            return await asyncio.to_thread(what, *arguments)

    async def _work(self, what: Callable[..., Any], *arguments: Any) -> Any:
        """Change the log in a transaction of the writer."""
        entry = Entry(work=(what, arguments))
        await self.writer.write(entry)
        return entry.result

    async def _look_forever(self) -> None:
        """Look at the newest rows now and then, while nothing is learned."""
        while True:
            await asyncio.sleep(SECONDS_TO_LOOK)
            try:
                async with self._alone:
                    await self.monitor.look()
            except Exception as error:  # numbers for the operator are worth no outage
                self._say(f"warning: the views of new rows are not known: {error}")
                return

    async def _snapshot_if_due(self) -> None:
        new = self.live.served.labels - self._in_snapshot if self.live.is_fitted else 0
        waited = time.monotonic() - self._snapshot_time
        if self.leads and (
            new >= self.settings.snapshot_labels
            or (new and waited >= self.settings.snapshot_seconds)
        ):
            await self._write_snapshot()
        if self.live.served.labels < self.n_labels:
            self._new_labels.set()

    async def _write_snapshot(self) -> str | None:
        """Write a snapshot if there is a new label; return why it could not be written."""
        async with self._publishing:
            try:
                async with self._alone:
                    self._snapshot_time = time.monotonic()
                    if self.live.served.labels == self._in_snapshot or not self.live.is_fitted:
                        return None
                    self.live.note_rows()
                    names = await asyncio.to_thread(self.folder.save_snapshot, self.live)
                snapshot = await asyncio.to_thread(self.folder.publish_snapshot, names)
            except (InputError, OSError) as error:
                self._say(f"warning: no snapshot: {error}")
                return str(error)
            self._in_snapshot = snapshot.labels
        self.writer.add(Entry(snapshot=snapshot))
        return None

    # --- requests ------------------------------------------------------------------------------

    def _route(
        self,
        path: str,
        answer: Callable[[Request], Awaitable[Response]],
        role: str | None,
        method: str = "POST",
    ) -> Route:
        """Return an endpoint: who may use it, how long it takes, and what is refused."""

        async def endpoint(request: Request) -> Response:
            began = time.perf_counter()
            try:
                if role is not None:
                    self._check_token(request, role)
                response = await answer(request)
            except RefusedError as error:
                more = {"retry-after": "1"} if error.status in (429, 503) else {}
                if error.status == 401:
                    more = {"www-authenticate": "Bearer"}
                response = as_json(error.body(), error.status, **more)
            except NotWrittenError as error:
                self._say_anew(f"warning: the log cannot be written ({error}): requests get 503")
                words = f"the log cannot be written ({error}); try again"
                response = as_json({"error": words}, 503, **{"retry-after": "1"})
            except ClientDisconnect:
                response = Response(status_code=400)
            except asyncio.CancelledError:  # the server ends, and waits for nobody any more
                response = as_json({"error": "the server ends; try again"}, 503)
            except (InputError, OSError) as error:  # a full disk, or a database that is away
                words = error.strerror or str(error) if isinstance(error, OSError) else str(error)
                self._say_anew(f"warning: {request.method} {path}: {words}")
                response = as_json({"error": words}, 503, **{"retry-after": "1"})
            except Exception as error:  # a bug, of which the operator has to know
                self._say_anew(f"error: {request.method} {path} failed: {fault_of(error)}")
                words = "the server has failed, by a bug; its log says where"
                response = as_json({"error": words}, 500)
            took = time.perf_counter() - began
            self._metrics.observe(path, response.status_code, took)
            if path in ("/predict", "/invocations"):
                self.monitor.add_seconds(took)
            return response

        return Route(path, endpoint, methods=[method])

    def _check_token(self, request: Request, role: str) -> None:
        tokens = self.settings.tokens
        if not tokens:
            if self.settings.local and not _is_here(host := header_of(request, b"host")):
                raise RefusedError(
                    403,
                    f"the host is called {host!r:.60}; name this machine by its address, or "
                    "localhost: only crossview serve --token-file takes other names",
                )
            return
        kind, _, given = header_of(request, b"authorization").partition(" ")
        allowed = [tokens[name] for name in {role, "operator"} if name in tokens]
        # all are compared, in constant time
        fits = [hmac.compare_digest(given.encode(), token.encode()) for token in allowed]
        if kind.lower() != "bearer" or not given:
            raise RefusedError(401, "give the header authorization: Bearer TOKEN")
        if not any(fits):
            raise RefusedError(401, f"this is not a token of {role}")

    async def _find_room(self, n: int) -> None:
        """Refuse a request that cannot be logged, also in a moment."""
        until = time.monotonic() + SECONDS_FOR_ROOM
        while self.writer.failure is None and self.writer.is_full(n):
            if time.monotonic() > until or n > self.settings.most_waiting:
                break
            await asyncio.sleep(0.002)
        failure = self.writer.failure or self.away
        if failure is not None:
            raise NotWrittenError(failure)
        if self.broken is not None:
            raise RefusedError(503, f"learning has ended: {self.broken}")
        if self.writer.is_full(n):
            raise RefusedError(429, "too many records wait for the disk; try again")

    async def predict(self, request: Request) -> Response:
        """``POST /predict``."""
        asked = decoded(await read_body(request), PredictRequest)
        durable, explained = _switches(request, "durable", "explain", others=("top",))
        top = _number(request, "top")
        if asked.rows is msgspec.UNSET:
            rows, ids = [asked.row], [asked.id]
        else:
            rows, ids = asked.rows, [None] * len(asked.rows)
        await self._find_room(len(rows))
        if explained and len(rows) > MOST_EXPLAINED:
            raise RefusedError(
                413, f"explain=1 is for at most {MOST_EXPLAINED} rows; send several requests"
            )
        found, unknown = await self._predicted(rows, ids)
        reasons = [self._explained(one) if explained else None for one in found]
        entry = Entry([one for one in found if isinstance(one, Prediction)])
        if entry.predictions:
            if durable or asked.id is not None:
                await self.writer.write(entry)
            else:
                self.writer.add(entry)
        answers = [self._answered(one, entry) for one in found]
        if top is not None:
            _keep_most_probable(answers, top)
        for answer, reason in zip(answers, reasons, strict=True):
            if reason is not None and not isinstance(answer, RefusedError):
                answer["explanation"] = reason
        _add_unknown(answers, unknown)
        return _answer_of(answers, "predictions", many=asked.rows is not msgspec.UNSET)

    def _explained(self, one: Prediction | RefusedError) -> Explanation | None:
        """Return why a row was predicted so, by the model that has done so."""
        if isinstance(one, RefusedError):
            return None
        try:
            return self.live.explain(msgspec.json.decode(one.row))
        except InputError as error:
            raise refusal_of(error) from None

    async def invocations(self, request: Request) -> Response:
        """``POST /invocations``: all rows, or none."""
        rows = rows_of(decoded(await read_body(request), InvocationsRequest))
        await self._find_room(len(rows))
        found, unknown = await self._predicted(rows, [None] * len(rows))
        good = []
        for number, one in enumerate(found):
            if isinstance(one, RefusedError):
                raise RefusedError(one.status, one.message, **one.where, row=number)
            good.append(one)
        if good:
            self.writer.add(Entry(good))
        answer: dict[str, Any] = {
            "predictions": [msgspec.Raw(one.prediction.encode()) for one in good],
            "ids": [one.id for one in good],
            "probabilities": [msgspec.Raw(one.probabilities.encode()) for one in good],
        }
        if unknown:
            names = dict.fromkeys(name for own in unknown.values() for name in own)
            answer["unknown"] = list(names)[:MOST_UNKNOWN]
        return as_json(answer)

    async def _predicted(
        self,
        rows: Sequence[msgspec.Raw],
        ids: Sequence[str | None],
        *,
        labeled: bool = False,
    ) -> tuple[list[Prediction | RefusedError], dict[int, list[str]]]:
        """Return the record of each row, which comes ``labeled`` or not, or why there is none.

        With it, by the number of the row, the names of which the model has no column.
        """
        found: list[Prediction | RefusedError] = []
        unknown: dict[int, list[str]] = {}
        first = self.live.first_rows()
        for lo in range(0, len(rows), ROWS_AT_ONCE):
            if lo:
                await asyncio.sleep(0)
            texts: list[Any] = []
            n_unknown = self.live.n_unknown_rows
            for raw, id_ in zip(rows[lo : lo + ROWS_AT_ONCE], ids[lo:], strict=False):
                try:
                    if id_ is not None:
                        check_id(id_)
                        if OWN_ID.match(id_):
                            raise RefusedError(
                                422,
                                f"{id_!r:.60} looks like an id of the server; give another one, "
                                "such as order-17, or none",
                            )
                    text, row = read_row(raw)
                    if first is not None:
                        (first.add if labeled else first.check)(row)
                    if self.live.hashes_rows:
                        row = self.live.hashed(row)
                        text = msgspec.json.encode(row).decode()
                    texts.append((text, row))
                except InputError as error:
                    texts.append(refusal_of(error))
                except RefusedError as error:
                    texts.append(error)
            good = [i for i, text in enumerate(texts) if not isinstance(text, RefusedError)]
            predict = self.live.predict if labeled else self.live.predict_to_learn
            answers = predict([texts[i][1] for i in good])
            for i, answer in zip(good, answers, strict=True):
                if isinstance(answer, InputError):
                    texts[i] = refusal_of(answer)
                else:
                    record = self._record(ids[lo + i], texts[i][0], answer)
                    if labeled:
                        record = record._replace(experts="null")
                    self.monitor.add_row(texts[i][1], record)
                    texts[i] = record
            found += texts
            if self.live.n_unknown_rows != n_unknown:
                for i in range(lo, len(found)):
                    if isinstance(found[i], Prediction) and (names := self._unknown_in(rows[i])):
                        unknown[i] = names
        return found, unknown

    def _unknown_in(self, raw: msgspec.Raw) -> list[str]:
        """Return the names in a row of which the model has no column, as an answer has them."""
        names = self.live.unknown_names(read_row(raw)[1])[:MOST_UNKNOWN]
        self.monitor.add_names(names)
        return [
            name if len(name) <= MOST_OF_NAME else f"{name[:MOST_OF_NAME]}..." for name in names
        ]

    def _record(self, id_: str | None, row: str, answer: Answer) -> Prediction:
        sequence = self._next
        self._next += 1
        found = answer.prediction, answer.probabilities, dict(answer.experts)
        texts = [msgspec.json.encode(value).decode() for value in found]
        now, labels = time.time_ns() // 1000, self.live.served.labels
        return Prediction(sequence, id_ or own_id(sequence), now, row, labels, *texts)

    def _answered(
        self, one: Prediction | RefusedError, entry: Entry
    ) -> dict[str, Any] | RefusedError:
        """Return the answer to a row; of an id that is in the log the answer of then."""
        if isinstance(one, RefusedError):
            return one
        earlier = entry.earlier.get(one.id, one)
        if earlier.row != one.row:
            return RefusedError(409, "this id has another row already", id=one.id)
        answer = {
            "id": earlier.id,
            "prediction": msgspec.Raw(earlier.prediction.encode()),
            "probabilities": msgspec.Raw(earlier.probabilities.encode()),
            "model": earlier.model,
        }
        if earlier.prediction == "null":
            answer["note"] = (
                f"there is no prediction before the first {FEWEST_LABELS} labels are learned"
            )
        return answer

    async def label(self, request: Request) -> Response:
        """``POST /label``."""
        asked = decoded(await read_body(request), LabelRequest)
        many = asked if isinstance(asked, list) else [asked]
        await self._find_room(len(many))
        answers, good = self._tried_labels(many)
        labels = [(many[i].id, answers[i]) for i in good]
        await self._write_labels(Entry(labels=labels), good, answers)
        return _answer_of(answers, "labels", many=isinstance(asked, list))

    async def learn(self, request: Request) -> Response:
        """``POST /learn``."""
        asked = decoded(await read_body(request), LearnRequest)
        many = asked if isinstance(asked, list) else [asked]
        await self._find_room(2 * len(many))
        answers, good = self._tried_labels(many)
        asked_rows, ids = [many[i].row for i in good], [many[i].id for i in good]
        found, unknown = await self._predicted(asked_rows, ids, labeled=True)
        records: dict[str, Prediction] = {}  # an id that comes twice is one row
        pairs: list[tuple[int, Prediction]] = []
        texts: list[Any] = list(answers)
        for i, one in zip(good, found, strict=True):
            if isinstance(one, RefusedError):
                answers[i] = one
            elif records.setdefault(one.id, one).row != one.row:
                answers[i] = RefusedError(409, WORDS[CONFLICT], id=one.id)
            else:
                pairs.append((i, one))
        labels = [(one.id, texts[i]) for i, one in pairs]
        entry = Entry(list(records.values()), labels)
        await self._write_labels(entry, [i for i, _ in pairs], answers)
        _add_unknown(answers, {good[i]: names for i, names in unknown.items()})
        return _answer_of(answers, "labels", many=isinstance(asked, list))

    def _tried_labels(self, many: Sequence[Any]) -> tuple[list[Any], list[int]]:
        """Return labels as the log has them, or why they cannot be taken; and which can be."""
        new_classes, first = self.settings.new_classes, self.live.first_rows()
        answers: list[Any] = []
        for one in many:
            try:
                found = self.live.check_label(one.label, new_classes=new_classes, first=first)
                answers.append(msgspec.json.encode(found).decode())
            except InputError as error:
                answers.append(refusal_of(error, **({} if one.id is None else {"id": one.id})))
        return answers, [i for i, text in enumerate(answers) if isinstance(text, str)]

    async def _write_labels(self, entry: Entry, good: list[int], answers: list[Any]) -> None:
        """Write labels, and put what became of each in its place of the answers."""
        until = time.monotonic() + SECONDS_FOR_OTHERS
        while entry.labels:
            await self.writer.write(entry)
            if time.monotonic() > until or not self._comes(entry):
                break
            await asyncio.sleep(SECONDS_TO_FOLLOW)
        for i, (id_, _), outcome in zip(good, entry.labels, entry.outcome, strict=True):
            if outcome in WORDS:
                answers[i] = RefusedError(STATUS[outcome], WORDS[outcome], id=id_)
            else:
                answers[i] = {"id": id_, "label": outcome}

    def _comes(self, entry: Entry) -> bool:
        """Return whether a prediction that is not in the log may come from another server."""
        return self.folder.is_shared and any(
            outcome == UNKNOWN and OWN_ID.match(id_)
            for (id_, _), outcome in zip(entry.labels, entry.outcome, strict=True)
        )

    # --- what the operator sees ------------------------------------------------------------------

    def numbers(self) -> dict[str, Any]:
        """Return counts and means, of the log and of this process."""
        served = self.live.served
        total, hour = served.total.means(), self.hour().means()
        is_classifier = self.live.classes is not None
        loss = "log_loss" if is_classifier else "squared_error"
        calibration = self.monitor.calibration(self.hour())
        return {
            "model": served.labels,
            "predictions": self.n_predictions,
            "labels": self.n_labels,
            "labels_to_learn": self.n_labels - served.labels,
            "labels_refused": served.refused,
            "without_label": self.n_predictions - (self.n_labels - self._n_late),
            "waiting_for_disk": self.writer.waiting,
            "commits": self.writer.n_commits,
            "snapshot": self._in_snapshot,
            "classes": self.live.classes,
            "serves": self.live.name,
            "frozen": self.live.is_frozen,
            "challengers": [one.summary() for one in self.live.challengers],
            "scored": served.total.n,
            loss: total["loss"],
            f"{loss}_first_model": total["first_loss"],
            f"{loss}_last_hour": hour["loss"],
            f"{loss}_first_model_last_hour": hour["first_loss"],
            "accuracy": total["accuracy"] if is_classifier else None,
            "accuracy_first_model": total["first_accuracy"] if is_classifier else None,
            "calibration_gap": None if calibration is None else calibration[0],
            "warnings": len(self.monitor.warnings(self.hour())),
            "new_columns": len(self.monitor.new_columns()),
            "server": self.settings.name,
            "leader": self.leader,
            "leads": self.leads,
            "ready": self._unready() is None,
        }

    def hour(self) -> Point:
        """Return the scores of the last hour."""
        return self.live.served.since(time.time_ns() // 1000 - HOUR)

    def shown(self) -> dict[str, Any]:
        """Return what the page shows."""
        served, hour = self.live.served, self.hour()
        warnings = self.monitor.warnings(hour)
        if not self.live.is_fitted and self.live.refusal:
            warnings.append(self.live.refusal)
        if (why := self._unready()) is not None:
            warnings.insert(0, why)
        return {
            **self.numbers(),
            **self.monitor.page(),
            "time": time.time_ns() // 1000,
            "seconds": time.monotonic() - self._began,
            "loss": "squared error" if self.live.classes is None else "log loss",
            # and another model is served, or one that has learned since
            "has_first": self.live.first is not None
            and not (self.live.is_frozen and self.live.name == FIRST_NAME),
            "hour": hour.means(),
            "total": served.total.means(),
            "curve": [{"time": one.time, **one.means()} for one in served.full_curve()],
            "warnings": warnings,
        }

    async def page(self, request: Request) -> Response:
        """``GET /``: the page, which has no numbers yet."""
        return Response(PAGE, media_type="text/html", headers=PAGE_HEADERS)

    async def document(self, request: Request) -> Response:
        """``GET /openapi.json``."""
        return Response(DOCUMENT, media_type="application/json")

    async def document_page(self, request: Request) -> Response:
        """``GET /docs``."""
        return Response(DOCUMENT_PAGE, media_type="text/html", headers=DOCUMENT_HEADERS)

    async def events(self, request: Request) -> Response:
        """``GET /events``: what the page shows, again and again, as server-sent events."""
        if self._streams >= MOST_STREAMS:
            raise RefusedError(429, f"{MOST_STREAMS} pages look already; close one")

        async def stream() -> AsyncIterator[bytes]:
            self._streams += 1
            try:
                while not self.is_ending:
                    yield b"data: " + msgspec.json.encode(self.shown()) + b"\n\n"
                    for _ in range(5):
                        if not self.is_ending:
                            await asyncio.sleep(0.2)
            finally:
                self._streams -= 1

        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(stream(), media_type="text/event-stream", headers=headers)

    async def stats(self, request: Request) -> Response:
        """``GET /stats``."""
        return as_json(self.numbers())

    async def metrics(self, request: Request) -> Response:
        """``GET /metrics``."""
        text = self._metrics.text()
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    async def health(self, request: Request) -> Response:
        """``GET /healthz``: the process answers."""
        return as_json({"status": "ok"})

    def _unready(self) -> str | None:
        """Return why requests are not taken."""
        if self.writer.failure is not None:
            return f"the log cannot be written ({self.writer.failure})"
        if self.away is not None:
            return f"the log cannot be read ({self.away})"
        return None if self.broken is None else f"learning has ended: {self.broken}"

    async def ready(self, request: Request) -> Response:
        """``GET /readyz``: requests are taken."""
        why = self._unready()
        if why is not None:
            raise RefusedError(503, why)
        behind = self.n_labels - self.live.served.labels
        return as_json({"status": "ready", "leader": self.leader, "labels_to_learn": behind})

    async def snapshot(self, request: Request) -> Response:
        """``POST /snapshot``."""
        error = await self._write_snapshot()
        if error is not None:
            raise RefusedError(503, error)
        return as_json({"labels": self._in_snapshot})

    # --- challengers ----------------------------------------------------------------------------

    async def join(self, request: Request) -> Response:
        """``POST /challenger?name=NAME``: a model file, which joins."""
        name = request.query_params.get("name", "")
        (frozen,) = _switches(request, "frozen", others=("name",))
        try:
            check_name(name)
        except InputError as error:
            raise RefusedError(422, error.message) from None
        with tempfile.TemporaryDirectory(prefix="crossview-") as folder:
            file = Path(folder) / "model.safetensors"
            await read_file(request, file)
            try:
                other = await asyncio.to_thread(LiveModel.load, file, frozen=frozen)
                self.live.check_challenger(other)
            except InputError as error:
                raise RefusedError(422, f"challenger {name!r}: {error.message}") from None
            checksum = await asyncio.to_thread(self.folder.keep_challenger, name, file)
        return await self._change(JOIN, name, checksum, frozen=frozen)

    async def leave(self, request: Request) -> Response:
        """``DELETE /challenger?name=NAME``."""
        return await self._change(LEAVE, request.query_params.get("name", ""))

    async def promote(self, request: Request) -> Response:
        """``POST /promote``: a challenger is served from now on."""
        asked = decoded(await read_body(request), PromoteRequest)
        for one in self.live.challengers:
            missing = {*(self.live.classes or ())} - {*(one.live.classes or ())}
            if one.name == asked.name and missing and not self.settings.new_classes:
                names = ", ".join(sorted(map(class_name, missing)))
                raise RefusedError(
                    409,
                    f"{asked.name} does not have the class {names:.200}, whose labels would be "
                    "refused; crossview serve --new-classes lets new ones come",
                )
        return await self._change(PROMOTE, asked.name)

    async def _change(
        self, kind: str, name: str, sha256: str = "", *, frozen: bool = False
    ) -> Response:
        """Write an event into the log, and wait until it has happened."""
        found = await self._work(Log.add_event, kind, name, sha256, frozen)
        if found is None and kind == JOIN:
            raise RefusedError(409, f"a challenger {name!r} is there already")
        if found is None:
            raise RefusedError(404, f"no challenger is called {name!r:.70}")
        event, n_events = found
        self._new_labels.set()
        while self.live.served.events < n_events:
            if self.broken is not None:
                raise RefusedError(503, f"learning has ended: {self.broken}")
            await asyncio.sleep(0.005)
        return as_json({"name": name, "at": event.at, "serves": self.live.name})

    async def model_file(self, request: Request) -> Response:
        """``GET /model``: the model as it is now, which other commands read."""
        if not self.live.is_fitted:
            raise RefusedError(404, "the model has learned nothing yet")
        folder = tempfile.TemporaryDirectory(prefix="crossview-")
        file = Path(folder.name) / "model.safetensors"
        try:
            async with self._alone:
                labels = self.live.served.labels
                self.live.note_rows()
                await asyncio.to_thread(self.live.save, file)
        except BaseException:
            folder.cleanup()
            raise
        return FileResponse(
            file,
            filename=f"model-{labels}.safetensors",
            background=BackgroundTask(folder.cleanup),
        )


# numbers for Prometheus, of `Serving.numbers`
GAUGES = {
    "predictions": "Predictions in the log.",
    "labels": "Labels in the log.",
    "labels_to_learn": "Labels in the log that are not learned yet.",
    "labels_refused": "Labels that could not be learned.",
    "waiting_for_disk": "Records that wait for a commit.",
    "snapshot": "Labels in the newest snapshot.",
    "scored": "Labels whose row had been predicted.",
    "log_loss": "Mean log loss of predictions whose label came.",
    "squared_error": "Mean squared error of predictions whose target came.",
    "accuracy": "Share of predictions that were right, of those whose label came.",
    "log_loss_first_model": "Log loss of the first model, frozen, on the same rows.",
    "squared_error_first_model": "Squared error of the first model, frozen.",
    "accuracy_first_model": "Accuracy of the first model, frozen.",
    "log_loss_last_hour": "Log loss of the labels of the last hour.",
    "log_loss_first_model_last_hour": "The same of the first model, frozen.",
    "squared_error_last_hour": "Squared error of the labels of the last hour.",
    "squared_error_first_model_last_hour": "The same of the first model, frozen.",
    "calibration_gap": "Mean probability of predictions less the share that was right, "
    "in the last hour.",
    "warnings": "Lines of warnings on the page.",
    "new_columns": "Columns of the last minute that the model does not have.",
    "leads": "Whether this server writes snapshots, of those that share the log.",
    "ready": "Whether requests are taken.",
    "frozen": "Whether the model that is served learns nothing.",
}
GAUGES_OF_CHALLENGERS = {
    "difference": "By how much lower the loss of a challenger is.",
    "low": "Lower end of the 95 % interval of this difference.",
    "high": "Its upper end.",
}
GAUGES_OF_VIEWS = {
    "share": "Share of the view in the score, of the newest rows.",
    "missing": "Share of the newest rows in which the view is missing.",
    "drift": "Population stability index of the view since training.",
}


class Metrics:
    """Numbers for Prometheus: requests of all workers of this server, and what this one knows."""

    def __init__(self, serving: Serving) -> None:
        self._registry = CollectorRegistry()
        more: Any = {"registry": self._registry, "namespace": "crossview"}
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            more["registry"] = None
            MultiProcessCollector(self._registry)  # type: ignore[no-untyped-call]
        self._registry.register(self)
        self._requests = Counter("requests", "Requests.", ["path", "status"], **more)
        self._seconds = Histogram(
            "request_seconds",
            "Seconds of a request.",
            ["path"],
            buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5),
            **more,
        )
        self.learning = Histogram(
            "learning_seconds",
            "Seconds in which labels were learned and no request was answered.",
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5),
            **more,
        )
        self._serving = serving
        self._known: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def observe(self, path: str, status: int, seconds: float) -> None:
        """Count a request, unless the folder of the counts is full, or went with the parent."""
        try:
            known = self._known.get((path, status))
            if known is None:  # to find them takes longer than to count
                found = self._requests.labels(path, status), self._seconds.labels(path)
                known = self._known[path, status] = found
            known[0].inc()
            known[1].observe(seconds)
        except OSError as error:
            self._serving._say_anew(f"warning: requests are not counted: {error.strerror}")

    def describe(self) -> list[Metric]:
        """Return nothing: what is collected depends on the log."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the numbers that are not counted by requests."""
        numbers = self._serving.numbers()
        for name, text in GAUGES.items():
            if numbers.get(name) is not None:
                yield GaugeMetricFamily(f"crossview_{name}", text, numbers[name])
        for kind, key, names, rows in (
            ("challenger", "name", GAUGES_OF_CHALLENGERS, numbers["challengers"]),
            ("view", "view", GAUGES_OF_VIEWS, self._serving.monitor.views),
        ):
            for name, text in names.items():
                family = GaugeMetricFamily(f"crossview_{kind}_{name}", text, labels=[kind])
                for row in rows:
                    if row.get(name) is not None:
                        family.add_metric([row[key]], row[name])
                yield family

    def text(self) -> bytes:
        """Return all numbers in the text format."""
        return generate_latest(self._registry)


async def _no_endpoint(request: Request, error: Any) -> Response:
    """Answer a request of a path, or by a method, that there is not."""
    words = f"there is no {request.method} {request.url.path}"
    return as_json({"error": words}, error.status_code, **(error.headers or {}))


def _switches(request: Request, *names: str, others: tuple[str, ...] = ()) -> list[bool]:
    """Return whether each parameter of the query is set; there are ``others`` with values."""
    if not request.scope["query_string"]:
        return [False] * len(names)
    given = request.query_params
    for name, value in given.items():
        if name not in (*names, *others):
            known = ", ".join((*names, *others))
            raise RefusedError(422, f"there is no parameter {name!r:.60} (there are: {known})")
        if name in names and value not in ("0", "1"):
            raise RefusedError(422, f"{name}={value:.60}; give 0 or 1")
    return [given.get(name) == "1" for name in names]


def _number(request: Request, name: str) -> int | None:
    """Return a parameter of the query that is a number from 1 on; None if it is not given."""
    value = request.query_params.get(name) if request.scope["query_string"] else None
    if value is None:
        return None
    if not (value.isascii() and value.isdigit() and len(value) < 10 and int(value)):
        raise RefusedError(422, f"{name}={value:.60}; give a number from 1 on")
    return int(value)


def _keep_most_probable(answers: Sequence[Any], top: int) -> None:
    """Leave the probabilities of so many classes in the answers to rows, the highest first."""
    for answer in answers:
        if isinstance(answer, RefusedError):
            continue
        known = msgspec.json.decode(answer["probabilities"])
        if known is not None:
            best = sorted(known.items(), key=lambda one: -one[1])[:top]
            answer["probabilities"] = dict(best)


@lru_cache(maxsize=256)
def _is_here(host: str) -> bool:
    """Return whether the header of the host has an address, or localhost, or there is none."""
    if not host:
        return True
    try:
        name = urlsplit(f"//{host}").hostname
        return name == "localhost" or bool(ipaddress.ip_address(name or ""))
    except ValueError:
        return False


def _add_unknown(answers: list[Any], unknown: Mapping[int, list[str]]) -> None:
    """Say in the answers to rows which of their names the model has no column of."""
    for i, names in unknown.items():
        if not isinstance(answers[i], RefusedError):
            answers[i]["unknown"] = names


def _answer_of(answers: Sequence[Any], name: str, *, many: bool) -> Response:
    """Return the answer to a request of one part, or to all parts of one.

    Of ``many`` the status is 200 if all are good, and 207 if some are; where none is, that of the
    first.
    """
    if not many:
        if isinstance(answers[0], RefusedError):
            raise answers[0]
        return as_json(answers[0])
    refused = [one for one in answers if isinstance(one, RefusedError)]
    bodies = [
        {**one.body(), "status": one.status} if isinstance(one, RefusedError) else one
        for one in answers
    ]
    status = 200
    if refused:
        status = refused[0].status if len(refused) == len(answers) else 207
    return as_json({name: bodies}, status)
