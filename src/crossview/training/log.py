"""A log of a training run: loss and metric of equal windows of rows, as JSON lines."""

from __future__ import annotations

import json
import math
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from crossview.errors import InputError
from crossview.saving.files import LOG, check_writable, naming
from crossview.scoring.problems import Problem
from crossview.scoring.progressive import Windows

# windows of a source whose rows are counted, and the least rows of one
N_WINDOWS, FEWEST_ROWS = 20, 100


class TrainingLog:
    """Log of a training run: a file of JSON lines, one for each window of rows of the first pass.

    A line has the rows so far, and of those of the window, each predicted before it was learned,
    loss, log loss, accuracy and metric.

    Parameters
    ----------
    path : path-like
        The file; it begins anew, unless the run goes on.
    every : int, default=None
        Rows of a window, 1 or more.  None: about 20 windows, of 100 rows or more.

    Examples
    --------
    >>> import os, tempfile
    >>> from crossview import TrainingLog, datasets, train
    >>> path = os.path.join(tempfile.mkdtemp(), "log.jsonl")
    >>> trained = train(datasets.load("breast-cancer"), "diagnosis", log=TrainingLog(path, 200))
    >>> with open(path) as file:
    ...     len(file.readlines())
    3
    """

    def __init__(self, path: str | os.PathLike[str], every: int | None = None) -> None:
        if every is not None and every < 1:
            raise InputError(f"every={every}; give 1 or more")
        check_writable(path, LOG)
        self.path, self.every = Path(path), every

    @classmethod
    def of(cls, log: str | os.PathLike[str] | TrainingLog | None) -> TrainingLog | None:
        """Return the log that a path or another log means; None for None."""
        return log if isinstance(log, TrainingLog | None) else cls(log)

    def windows(self, task: Problem, n_rows: int) -> Windows:
        """Return the windows of a run, which write themselves.

        Parameters
        ----------
        task : Problem
            The kind of prediction.
        n_rows : int
            Rows of the source.

        Returns
        -------
        Windows
            To be counted by `ProgressiveValidation`.
        """
        every = self.every or max(FEWEST_ROWS, _round(n_rows / N_WINDOWS))
        return Windows(task, every, self._add)

    def begin(self, n_rows: int) -> None:
        """Keep the lines of the first rows, which a run that goes on has learned already."""
        lines = []
        if n_rows and self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                with suppress(ValueError):  # a run that was killed may not have ended its line
                    if json.loads(line)["rows"] <= n_rows:
                        lines.append(line + "\n")
        with naming(self.path):
            self.path.write_text("".join(lines), encoding="utf-8")

    def _add(self, window: dict[str, Any]) -> None:
        defined = {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in window.items()
        }
        with naming(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(defined) + "\n")


def _round(number: float) -> int:
    """The number with one digit that is not 0."""
    if number < 1:
        return 1
    power = 10 ** int(math.log10(number))
    return int(number // power) * power
