"""A server: the lock, the model as the log says, and the loop that answers."""

from __future__ import annotations

import asyncio
import errno
import gc
import ipaddress
import os
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import TYPE_CHECKING, Any

from crossview.errors import InputError, argument
from crossview.saving.files import alone

if TYPE_CHECKING:
    from crossview.serving.beginning import Beginning

ROLES = ("predict", "label", "operator")
# a terminal that is closed sends the last one
SIGNALS = (
    *(signal.SIGINT, signal.SIGTERM),
    *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []),
)


def serve(
    data: str | os.PathLike[str],
    model: str | os.PathLike[str] | Beginning | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    token_file: str | os.PathLike[str] | None = None,
    new_classes: bool = False,
    wait: float | None = None,
    no_label: str | None = None,
    keep: float | None = None,
    hash_rows: bool = False,
    frozen: bool = False,
    challengers: Sequence[str | os.PathLike[str]] = (),
    frozen_challengers: Sequence[str | os.PathLike[str]] = (),
    workers: int = 1,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Serve a model until the process is told to end.

    Parameters
    ----------
    data : path-like
        The folder of the log and of snapshots, which one server uses at a time; or the address of a
        database, ``postgresql://user@host/database``, which any number of servers share.
    model : path-like or Beginning, default=None
        The first model; None: the folder has one.
    host : str, default="127.0.0.1"
        The address to listen at.
    port : int, default=8080
        0: any that is free.
    token_file : path-like, default=None
        See `read_tokens`.
    new_classes : bool, default=False
        Whether labels may be of a class that the model does not have.
    wait : float, default=None
        Seconds after which a row is dropped, if its label has not come; None: never.
    no_label : str, default=None
        The class that such a row is learned as, and not dropped; "negative" is the class of two
        that is not the positive one.  A label that comes later corrects it.
    keep : float, default=None
        Seconds after which rows and labels are removed from the log; None: never.
    hash_rows : bool, default=False
        Whether the log has slots and standardized numbers of rows in place of names and values.
        The encoder then learns nothing more.
    frozen : bool, default=False
        Whether the first model learns nothing: it may be of any kind then.  Labels are taken, for
        the scores and for challengers.
    challengers, frozen_challengers : sequence of path-like, default=()
        Model files that are compared with the model that is served, called as the files.  They
        join after the labels so far, and learn those that follow, or nothing.  One that has joined
        before goes on.
    workers : int, default=1
        Processes that answer at this address.  Each learns all labels.
    say : callable
        Gets what the operator should know, a line each.

    Raises
    ------
    InputError
        The model cannot be served, the log is damaged, or the address cannot be used.
    """
    from crossview.server_log.addresses import LOG, is_address
    from crossview.serving.live import LiveModel
    from crossview.serving.storage.folder import Folder
    from crossview.serving.workers import supervise

    if no_label is not None and wait is None:
        raise InputError(
            f"{argument('no_label')} is about rows that have waited; give {argument('wait')}, too"
        )
    if keep is not None and wait is not None and keep < wait:
        raise InputError(
            f"{argument('keep')} is less than {argument('wait')}, so that rows would be gone "
            "before their labels"
        )
    if workers < 1:
        raise InputError(f"{argument(workers=workers)}; give 1 or more")
    tokens = {} if token_file is None else read_tokens(token_file)
    if no_label is not None and model is not None:
        LiveModel.of(model, frozen=frozen).find_class(no_label)  # before anything is made
    with ExitStack() as stack:
        if not is_address(data):
            path = Path(data)
            if path.exists() and not path.is_dir():
                raise InputError("is a file; name a folder", file=str(path))
            if not path.exists():
                path.mkdir(parents=True, exist_ok=True)
                stack.callback(_remove_empty, path)
            stack.enter_context(alone(path / LOG))
        listening = stack.enter_context(_listening(host, port))
        stack.enter_context(_saying_warnings(say))
        address, found = listening.getsockname()[:2]
        local = ipaddress.ip_address(address).is_loopback
        if not tokens and not local:
            say(
                "warning: everybody who reaches this address may predict, label and read the "
                "model; --token-file asks for a token"
            )
        where = f"[{address}]" if ":" in address else address
        arguments: dict[str, Any] = {
            "data": data,
            "model": model,
            "hash_rows": hash_rows,
            "frozen": frozen,
            "listening": listening,
            "name": f"{socket.gethostname() if is_address(data) else where}:{found}",
            "challengers": {
                **dict.fromkeys(map(str, challengers), False),
                **dict.fromkeys(map(str, frozen_challengers), True),
            },
            "options": {
                "tokens": tokens,
                "local": local,
                "new_classes": new_classes,
                "wait": wait,
                "no_label": no_label,
                "keep": keep,
                "tend_seconds": min(60.0, max(1.0, min(wait or 3600.0, keep or 3600.0) / 10)),
            },
        }

        def begun(log: str) -> None:
            more = "" if workers == 1 else f" by {workers} workers"
            say(f"serving at http://{where}:{found}{more}, {log}")

        if workers == 1:
            _work(**arguments, say=say, ready=begun)
        else:
            with closing(Folder(data)) as folder:  # of all workers, one makes the log
                known = ("model", "hash_rows", "frozen", "challengers")
                folder.open(**{name: arguments[name] for name in known}).close()
            memory = "/dev/shm" if os.path.isdir("/dev/shm") else None  # no disk that may be full
            counts = TemporaryDirectory(prefix="crossview-counts-", dir=memory)
            arguments["counts"] = stack.enter_context(counts)
            supervise(_work, arguments, workers, begun, say, _told_to_end)


def _work(
    data: str | os.PathLike[str],
    model: str | os.PathLike[str] | Beginning | None,
    hash_rows: bool,
    frozen: bool,
    listening: socket.socket,
    name: str,
    challengers: dict[str, bool],
    options: dict[str, Any],
    say: Callable[[str], None],
    ready: Callable[[str], None],
    number: int | None = None,
    counts: str | None = None,
) -> None:
    """Learn the log, and answer until the process is told to end.

    A worker has a number, and a folder where all workers count their requests.
    """
    import uvicorn

    if counts is not None:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = counts  # before its module is loaded

    from crossview.serving.endpoints.app import Serving, Settings
    from crossview.serving.storage.folder import Folder, catch_up

    given: dict[str, Any] = {"hash_rows": hash_rows, "frozen": frozen, "challengers": challengers}
    with (
        _saying_warnings(say),
        closing(Folder(data, is_shared=number is not None)) as folder,
        closing(folder.open(model, **given, check=number is None)) as log,
    ):
        if number in (None, 1):
            for line in log.db.cautions():
                say(f"warning: {line}")
        live = folder.newest_model(log, say)
        n_labels = log.counts().labels
        replayed = n_labels - live.served.labels
        catch_up(live, log, n_labels)
        for file, learns_nothing in challengers.items():
            folder.let_join(log, live, file, frozen=learns_nothing)
        catch_up(live, log, n_labels)
        live.warm_up()
        gc.freeze()  # what is loaded stays; to look through it takes a tenth of a second each time
        if options["no_label"] is not None:
            found = live.find_class(options["no_label"])
            if options["no_label"] == "negative" and found is not None and number in (None, 1):
                say(
                    f"rows without a label are learned as {found!r}; --no-label names another class"
                )
        settings = Settings(**options, name=name if number is None else f"{name}/{number}")
        serving = Serving(folder, log, live, say, settings)
        if replayed:
            verb = "counted" if live.is_frozen else "learned"
            say(f"{verb} {replayed:,} labels of the log that no snapshot had")
        listening.listen(2048)  # who comes now waits for a moment
        config = uvicorn.Config(
            serving.app,
            log_level="error",
            access_log=False,
            server_header=False,
            lifespan="on",
            interface="asgi3",
            timeout_graceful_shutdown=5,
        )
        so_far = f"{serving.n_predictions:,} predictions, {n_labels:,} labels"
        so_far += "; frozen: the model learns none of them" if live.is_frozen else " learned"
        server = _server(config, serving, lambda: ready(f"log in {folder.name}; {so_far}"))
        before = sys.getswitchinterval()
        sys.setswitchinterval(0.0005)  # the thread that commits must not keep requests waiting
        try:
            # a terminal sends SIGINT to workers, too, and their parent tells them to end
            numbers = SIGNALS if number is None else SIGNALS[1:]
            with _told_to_end(server.handle_exit, numbers):
                server.run(sockets=[listening])
        finally:
            sys.setswitchinterval(before)
        so_far = f"{live.served.labels:,} labels"
        say(
            f"ended; {so_far}{', of which the model learns none' if live.is_frozen else ' learned'}"
        )


def _server(config: Any, serving: Any, ready: Callable[[], None]) -> Any:
    """Return a server of uvicorn that ends in order also if it is told to while it starts."""
    import uvicorn

    class Server(uvicorn.Server):
        early = False

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            serving.is_ending = True  # streams of events end, for which it would wait
            if self.started:
                super().handle_exit(sig, frame)
            else:
                self.early = True

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()
            if self.early:
                asyncio.get_running_loop().call_soon(setattr, self, "should_exit", True)

    return Server(config)


@contextmanager
def _told_to_end(
    handler: Callable[[int, FrameType | None], None], numbers: Sequence[int] = SIGNALS
) -> Iterator[None]:
    """Have the signals that end a process handled, where this is the thread that gets them.

    SIGHUP is not, where it is ignored, as by nohup.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heeded = [
        number
        for number in numbers
        if number in SIGNALS[:2] or signal.getsignal(number) is not signal.SIG_IGN
    ]
    before = [signal.signal(number, handler) for number in heeded]
    try:
        yield
    finally:
        for number, earlier in zip(heeded, before, strict=True):
            signal.signal(number, earlier)


def read_tokens(file: str | os.PathLike[str]) -> dict[str, str]:
    """Return the tokens of a file by their roles.

    file: one token, for all; or lines ``predict TOKEN``, ``label TOKEN``, ``operator TOKEN``, of
      ASCII.
    """
    try:
        lines = Path(file).read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not UTF-8"
        raise InputError(f"cannot be read ({reason})", file=str(file)) from None
    for number, line in enumerate(lines, 1):
        if not (line.isascii() and line.replace("\t", " ").isprintable()):
            raise InputError(
                f"line {number} has other characters than ASCII, which many clients cannot send "
                "in a header; use letters, digits and punctuation of ASCII",
                file=str(file),
            )
    words = [line.split() for line in lines if line.strip()]
    if len(words) == 1 and len(words[0]) == 1:
        return {"operator": words[0][0]}
    tokens: dict[str, str] = {}
    for parts in words:
        if len(parts) != 2 or parts[0] not in ROLES or parts[0] in tokens:
            raise InputError(
                f"has one token, or lines of {', '.join(ROLES)} and a token, each once",
                file=str(file),
            )
        tokens[parts[0]] = parts[1]
    if "operator" not in tokens:
        raise InputError("has no token of the operator", file=str(file))
    return tokens


def _remove_empty(folder: Path) -> None:
    """Remove the folder that was made for a log if nothing came of it."""
    with suppress(OSError):
        folder.rmdir()


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """Yield a socket that is bound to an address."""
    if not 0 <= port < 1 << 16:
        raise InputError(f"{argument(port=port)}; give 0 to 65535")
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind)
    except (OSError, OverflowError, UnicodeError) as error:
        raise InputError(f"cannot listen at {host} port {port}: {error}") from None
    with listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(address)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            is_elsewhere = getattr(error, "errno", None) == errno.EADDRNOTAVAIL
            advice = (
                "name one of this machine" if is_elsewhere else "choose another one with --port"
            )
            raise InputError(f"cannot listen at {host} port {port} ({reason}); {advice}") from None
        yield listening


@contextmanager
def _saying_warnings(say: Callable[[str], None]) -> Iterator[None]:
    """Say warnings in one line each, once: models that read the same rows warn of the same."""
    said = set[str]()

    def show(message: Warning | str, *where: Any, **more: Any) -> None:
        line = f"warning: {' '.join(str(message).split())}"
        if line not in said:
            said.add(line)
            say(line)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
