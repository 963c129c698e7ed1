"""What all benchmarks use: sizes, times in turn, processes, tables, pictures and findings."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
# the environment also tells processes and workers that are started
QUICK, RESUME = "CROSSVIEW_BENCHMARKS_QUICK", "CROSSVIEW_BENCHMARKS_RESUME"


def size(full: Any, quick: Any) -> Any:
    """Return a setting: the full one, or that of ``--quick``, which shows that a script works."""
    return quick if os.environ.get(QUICK) else full


def say(*words: object) -> None:
    """Print on stderr, at once."""
    print(*words, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Benchmark:
    """A function that gives tables, the page that has them, and the findings from the tables."""

    name: str
    room: str
    run: Callable[..., Iterable[Table | Picture]]
    page: str
    sets: tuple[str, ...]
    findings: Callable[[list[Table]], list[str]] | None


BENCHMARKS: dict[str, Benchmark] = {}


def benchmark(
    page: str,
    sets: Iterable[str] = (),
    findings: Callable[[list[Table]], list[str]] | None = None,
) -> Callable[[Callable], Callable]:
    """Register a function; one with data sets is called with the names of those that are wanted."""

    def register(run: Callable) -> Callable:
        room, name = run.__module__.split(".")[1], run.__name__
        BENCHMARKS[name] = Benchmark(name, room, run, page, tuple(sets), findings)
        return run

    return register


@functools.cache
def version() -> str:
    """Return a hash of the package's code."""
    return _hash(sorted((ROOT / "src" / "crossview").rglob("*.py")))


def _hash(files: Iterable[Path]) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def remembered(key: Sequence[Any], function: Callable, *arguments: Any) -> Any:
    """Return what a function returns, of JSON; at once where a run of this code has found it.

    So a long run may be stopped, and several processes may share it.  With ``--resume`` what
    another state of the package has found counts, too, and is said; not what another state of the
    benchmark has.
    """
    if os.environ.get(QUICK):
        return function(*arguments)
    name = f"{function.__module__}-{_hash([Path(function.__code__.co_filename)])}"
    file = ROOT / ".benchmarks" / f"{name}-{version()}.jsonl"
    earlier = sorted(file.parent.glob(f"{name}-*.jsonl"), key=lambda one: one.stat().st_mtime)
    for one in [file, *reversed(earlier if os.environ.get(RESUME) else [])]:
        for line in map(json.loads, one.read_text().splitlines() if one.exists() else []):
            if line["key"] == [*key]:
                if one != file:
                    say("  ", *key, "by earlier code, of", time.ctime(one.stat().st_mtime))
                return line["found"]
    found = function(*arguments)
    file.parent.mkdir(exist_ok=True)
    with file.open("a") as out:
        out.write(json.dumps({"key": [*key], "found": found}) + "\n")
    return found


# --- times and processes ----------------------------------------------------------------


@dataclass
class Process:
    """Wall time, peak memory, output and processor time of a finished process."""

    seconds: float
    peak_mb: float
    output: str
    processor: float


def in_turn(tasks: dict[str, Callable[[], Any]], repeats: int = 7) -> dict[str, list[float]]:
    """Return the seconds of each task, run A B C A B C ... after one warm-up call of each."""

    def timed(task: Callable[[], Any]) -> float:
        start = time.perf_counter()
        task()
        return time.perf_counter() - start

    return results_in_turn({name: lambda t=task: timed(t) for name, task in tasks.items()}, repeats)


def results_in_turn(tasks: dict[Any, Callable[[], Any]], repeats: int) -> dict[Any, list[Any]]:
    """Return what each task returns, run A B C A B C ... after one warm-up call of each."""
    found: dict[Any, list[Any]] = {name: [] for name in tasks}
    for turn in range(size(repeats, 1) + 1):
        for name, task in tasks.items():
            result = task()
            if turn:
                found[name].append(result)
    return found


# a small process starts the one that is measured, which else would have our memory at its start
STARTER = """
import os, subprocess, sys, time
with open(sys.argv[1], "w") as out:
    start = time.perf_counter()
    process = subprocess.Popen(sys.argv[2:], stdout=out, stderr=subprocess.STDOUT)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
print(os.waitstatus_to_exitcode(status), seconds, usage.ru_maxrss / 1024,
      usage.ru_utime + usage.ru_stime)
"""


def run(command: Sequence[object], folder: str | Path | None = None) -> Process:
    """Run a process, in a folder or in this one; return its wall time, peak memory and output."""
    with tempfile.NamedTemporaryFile("r") as output:
        given = [sys.executable, "-I", "-S", "-c", STARTER, output.name, *map(str, command)]
        done = subprocess.run(given, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
        status, seconds, peak, processor = map(float, done.stdout.split())
        text = output.read()
    if status:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{text}")
    return Process(seconds, peak, text, processor)


def apart(function: Callable, *arguments: Any) -> tuple[Any, float]:
    """Call a function in a process of its own; return its literal result, and the peak MB."""
    module = function.__module__
    code = f"from {module} import {function.__name__} as f; print(repr(f(*{arguments!r})))"
    process = run([sys.executable, "-c", code], ROOT)
    return eval(process.output.splitlines()[-1]), process.peak_mb


def crossview(*arguments: object) -> list[object]:
    """Return a command line of Crossview."""
    return [Path(sys.executable).parent / "crossview", *arguments]


def vowpal_wabbit(file: Path, *arguments: object) -> list[object]:
    """Return a command line of Vowpal Wabbit, from its wheel."""
    return [sys.executable, "-m", "vowpalwabbit", "-d", file, "--quiet", *arguments]


def middle(values: Sequence[float]) -> float:
    """Return the median."""
    return statistics.median(values)


def ratio(a: Sequence[float], b: Sequence[float]) -> str:
    """Return the median of the paired ratios a / b, with their range."""
    pairs = [x / y for x, y in zip(a, b, strict=True)]
    return f"{middle(pairs):.2f} ({min(pairs):.2f} to {max(pairs):.2f})"


def machine() -> str:
    """Return processor, cores, system, and the version of Python."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.processor()
    return (
        f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    )


# --- tables and findings ------------------------------------------------------------------


def numbers(cell: str) -> list[float]:
    """Return the numbers in a cell of a table."""
    words = re.findall(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])", cell)
    return [float(word.replace(",", "")) for word in words]


@dataclass
class Table:
    """A table of a page; findings are computed from it as it is printed."""

    header: list[str]
    rows: list[list[Any]] = field(default_factory=list)
    title: str = ""

    def add(self, *cells: object) -> None:
        """Append a row, and say it."""
        self.rows.append([str(cell) for cell in cells])
        say("  ", *cells)

    def __str__(self) -> str:
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        text = "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
        return f"**{self.title}**\n\n{text}" if self.title else text

    def column(self, name: str, place: int = 0) -> dict[str, float]:
        """Return a number of each cell of a column that has it, by the row's first cell."""
        at = self.header.index(name)
        found = {row[0]: numbers(str(row[at])) for row in self.rows}
        return {
            key: values[place]
            for key, values in found.items()
            if -len(values) <= place < len(values)
        }

    def sides(self, name: str, errors: float = 1.0) -> tuple[list[str], list[str], list[str]]:
        """Return the rows whose "mean ± standard error" is above 0, below 0, and neither."""
        found: tuple[list[str], list[str], list[str]] = [], [], []
        error = self.column(name, 1)
        for row, gap in self.column(name).items():
            least = errors * error.get(row, 0.0)
            found[0 if gap > least else 1 if -gap > least else 2].append(row)
        return found

    def words(self, name: str) -> dict[str, str]:
        """Return the cells of a column, by the row's first cell."""
        at = self.header.index(name)
        return {row[0]: str(row[at]) for row in self.rows}

    def updated(self, newer: Table) -> Table:
        """Return the table with the rows of a newer one in the place of those of the same name."""
        rows = {row[0]: row for row in [*self.rows, *newer.rows]}
        return Table(newer.header, list(rows.values()), newer.title)

    @staticmethod
    def read(text: str) -> Iterator[Table]:
        """Yield the tables of a page."""
        pattern = r"(?:^\*\*(.+)\*\*\n\n)?^\| (.+) \|\n\| -.*\n((?:\|.*\n?)*)"
        for title, header, rows in re.findall(pattern, text, re.MULTILINE):
            cells = [[c.strip() for c in row[2:-2].split(" | ")] for row in rows.splitlines()]
            yield Table(header.split(" | "), cells, title)


@dataclass(frozen=True)
class Picture:
    """A figure of a page: its file, and what is drawn, which knows its title and its words."""

    file: str
    display: Any

    def drawn(self, folder: Path) -> str:
        """Write the file into the folder; return what shows it on a page beside the folder."""
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        figure = self.display.plot(titled=False).figure_
        folder.mkdir(parents=True, exist_ok=True)
        metadata = {"Date": None, "Creator": None}
        figure.savefig(folder / f"{self.file}.svg", metadata=metadata, format="svg")
        pyplot.close(figure)
        image = f"![{self.display.alt}]({folder.name}/{self.file}.svg)"
        return f"{image}\n\n*{self.display.title}*"


def mean_and_error(values: Any) -> str:
    """Return the mean of paired differences, and its standard error."""
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{values.mean():+.1f} ± {error:.1f}"


def spread(values: Any, factor: float = 100.0) -> str:
    """Return the mean and the standard deviation, in percent."""
    values = factor * np.asarray(values, dtype=float)
    deviation = values.std(ddof=1) if len(values) > 1 else 0.0
    return f"{values.mean():.1f} ± {deviation:.1f}"


def listed(names: Iterable[object]) -> str:
    """Return names as in a sentence."""
    *first, last = [str(name) for name in names] or ["none"]
    return f"{', '.join(first)} and {last}" if first else last


def span(values: Iterable[float], form: str = ".1f") -> str:
    """Return the smallest and the largest value."""
    values = list(values)
    return f"{min(values):{form}} to {max(values):{form}}" if values else "none"


def verdicts(table: Table, column: str) -> str:
    """Say of a column of differences, "mean ± standard error", where they are above 0 and below."""
    ahead, behind, level = table.sides(column)
    return (
        f"ahead by more than one standard error on {listed(ahead)}; behind on {listed(behind)}; "
        f"level on {len(level)} of {len(ahead + behind + level)}"
    )


# --- data sets ------------------------------------------------------------------------------


def loaded(sets: dict[str, Callable[[], Any]], wanted: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield the data sets that are wanted and there; say which are not."""
    from benchmarks.data import AbsentError, Rows  # not in processes that measure memory

    for name in wanted or list(sets)[: size(None, 1)]:
        if name not in sets:
            continue
        say(name)
        try:
            found = sets[name]()
        except AbsentError as reason:
            say("  left out:", reason)
            continue
        yield name, size(found, found.some(500) if isinstance(found, Rows) else found)
