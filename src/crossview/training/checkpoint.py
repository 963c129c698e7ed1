"""Checkpoints: a training run on disk, which goes on as if it had never stopped."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from crossview.data.row_sketch import RowSketch
from crossview.data.rows_read import RowsRead
from crossview.errors import InputError, argument
from crossview.saving.files import check_writable
from crossview.saving.model_files import load, load_progress, save
from crossview.saving.schema import check_header
from crossview.training.job import FINISHED

# characters of what differs, and of what is the same before it
SHOWN, SHOWN_BEFORE = 60, 20

POSITION: dict[str, Any] = {
    **dict.fromkeys(["number", "batches", "unlabeled", "skipped"], int),
    **dict.fromkeys(["seconds", "compiled"], float),
    "order": (dict, None),
}


@dataclass
class Position:
    """Position of a run in its source.

    number: the pass, from 1.
    batches: batches that were learned in it.
    order: state of the random numbers that gave its order.
    unlabeled, skipped: rows without a label that were learned and passed over in the first pass.
    seconds, compiled: time of the run so far, and what compiling took of it.
    """

    number: int = 1
    batches: int = 0
    order: dict[str, Any] | None = None
    unlabeled: int = 0
    skipped: int = 0
    seconds: float = 0.0
    compiled: float = 0.0

    def counts(self) -> tuple[float, ...]:
        """Return what cannot be negative."""
        return self.batches, self.unlabeled, self.skipped, self.seconds, self.compiled


@dataclass
class Kept:
    """Content of a checkpoint: the model so far, the position, and all counts.

    fitted: the encoder and the learner.
    position: how far the run has come.
    counts: of the first pass.
    windows: counts of the window of the log that is not complete; empty without a log.
    sketch: of the rows that were learned.
    read: what was read of the source, as from `RowsRead.get_state`; of a checkpoint that was read.
    """

    fitted: Any
    position: Position
    counts: dict[str, np.ndarray] = field(default_factory=dict)
    windows: dict[str, np.ndarray] = field(default_factory=dict)
    sketch: RowSketch = field(default_factory=RowSketch)
    read: dict[str, np.ndarray] = field(default_factory=dict)


class Checkpoint:
    """Checkpoint of a training run: a file that keeps it while it lasts.

    The file has the model so far, its position in the source, a hash of the rows that were read,
    and all counts.  It is itself a model file, and is removed at the end.  Two runs at the same
    time cannot share it.

    Parameters
    ----------
    path : path-like
        The file.  It is replaced at once, when the new one is complete, so that there is always
        a whole one.
    every : float, default=60.0
        Seconds between two of them, 0 or more; 0: one after each batch.
    resume : bool, default=False
        Whether the run goes on from the file, if it is there: the model is, to the last bit, the
        one of a run that never stopped.  The rows that the run had read are read again first, and
        if one is another, that is an error.

    Examples
    --------
    >>> import os, tempfile
    >>> from crossview import Checkpoint, datasets, train
    >>> path = os.path.join(tempfile.mkdtemp(), "run.safetensors")
    >>> checkpoint = Checkpoint(path, every=10, resume=True)
    >>> train(datasets.load("breast-cancer"), "diagnosis", checkpoint=checkpoint).rows
    569
    """

    def __init__(
        self, path: str | os.PathLike[str], *, every: float = 60.0, resume: bool = False
    ) -> None:
        if not every >= 0.0:
            raise InputError(f"{argument(every=every)}; give seconds, 0 or more")
        check_writable(path)
        self.path, self.every, self.resume = Path(path), every, resume


class CheckpointFile:
    """The file of a checkpoint, during a run.

    checkpoint: the file, and how often it is written.
    run: what makes the run, as JSON: of another one the file is refused.
    rows_read: knows what the run has read of its source.
    """

    def __init__(self, checkpoint: Checkpoint, run: dict[str, Any]) -> None:
        self.path, self.every, self.resume = checkpoint.path, checkpoint.every, checkpoint.resume
        self.run = run
        self.rows_read: RowsRead | None = None
        self._last = time.monotonic()

    def is_due(self) -> bool:
        """Return whether it is time for one, and count the time anew."""
        now = time.monotonic()
        if now - self._last < self.every:
            return False
        self._last = now
        return True

    def write(self, kept: Kept) -> None:
        """Replace the file."""
        header: dict[str, Any] = {"run": self.run, "position": asdict(kept.position)}
        header["row_sketch"] = kept.sketch.to_json()
        state = {f"counts/{name}": array for name, array in kept.counts.items()}
        state |= {f"windows/{name}": array for name, array in kept.windows.items()}
        if self.rows_read is not None:
            read = self.rows_read.get_state()
            state |= {f"read/{name}": array for name, array in read.items()}
        save(kept.fitted, self.path, progress=(header, state))

    def read(self) -> Kept | None:
        """Return what the file holds; None to start from the first row."""
        if not (self.resume and self.path.exists()):
            return None
        header, state = load_progress(self.path)
        if FINISHED in header:
            raise InputError("holds a model and no unfinished run", file=str(self.path))
        other = None
        try:
            run = header["run"]
            for name in {**run, **self.run}:
                if other is None and run.get(name) != self.run.get(name):
                    was, here = shown_apart(run.get(name), self.run.get(name))
                    other = f"{name}: {was} then, {here} now"
            kept = None if other is not None else self._kept(header, state)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            what = error.message if isinstance(error, InputError) else error
            raise InputError(f"is a damaged checkpoint ({what})", file=str(self.path)) from error
        if other is not None:
            raise InputError(
                f"is of another run: {other}; remove it to train from the first row, or name "
                "another checkpoint",
                file=str(self.path),
            )
        return kept

    def _kept(self, header: dict[str, Any], state: dict[str, np.ndarray]) -> Kept:
        check_header(header["position"], POSITION, "the position")
        position = Position(**header["position"])
        if not (position.number >= 1 and all(0 <= n < 2**53 for n in position.counts())):
            raise ValueError("its position")
        names = ("counts", "windows", "read")
        parts: dict[str, dict[str, np.ndarray]] = {name: {} for name in names}
        for name, array in state.items():
            part, _, rest = name.partition("/")
            parts[part][rest] = array
        if self.rows_read is not None:
            self.rows_read.check(parts["read"])
        fitted = load(self.path)
        sketch = RowSketch.from_json(header["row_sketch"])
        counts, windows, read = parts["counts"], parts["windows"], parts["read"]
        return Kept(fitted, position, counts, windows, sketch, read)


def shown_apart(was: Any, here: Any) -> tuple[str, str]:
    """Return two different values as text; of long ones the part in which they differ."""
    texts = [" ".join(repr(value).split()) for value in (was, here)]
    pairs = zip(*texts, strict=False)
    same = next((i for i, (one, other) in enumerate(pairs) if one != other), min(map(len, texts)))
    start = max(same - SHOWN_BEFORE, 0) if max(map(len, texts)) > SHOWN else 0
    cut = [text[start : start + SHOWN] for text in texts]
    return tuple(  # type: ignore[return-value]
        f"{'...' * (start > 0)}{part}{'...' * (start + SHOWN < len(text))}"
        for text, part in zip(texts, cut, strict=True)
    )
