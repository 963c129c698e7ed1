"""Time tasks alternately in one run; report medians, and ratios of paired measurements."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Process:
    """Wall time, peak memory, output and processor time of a finished process."""

    seconds: float
    peak_mb: float
    output: str
    processor: float = 0.0


def in_turn(tasks: dict[str, Callable[[], object]], repeats: int = 7) -> dict[str, list[float]]:
    """Return the seconds of each task, run A B C A B C ... after one warm-up call of each."""
    for task in tasks.values():
        task()
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(repeats):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def run(command: Sequence[object], folder: str | Path | None = None) -> Process:
    """Run a process, in a folder or in this one; return its wall time, peak memory and output."""
    with tempfile.TemporaryFile("w+") as output:
        start = time.perf_counter()
        process = subprocess.Popen(
            [str(part) for part in command], stdout=output, stderr=subprocess.STDOUT, cwd=folder
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{text}")
    return Process(seconds, usage.ru_maxrss / 1024, text, usage.ru_utime + usage.ru_stime)


def middle(values: Sequence[float]) -> float:
    return statistics.median(values)


def ratio(a: Sequence[float], b: Sequence[float]) -> str:
    """Return the median of the paired ratios a / b, with their range."""
    pairs = [x / y for x, y in zip(a, b, strict=True)]
    return f"{middle(pairs):.2f} ({min(pairs):.2f} to {max(pairs):.2f})"


def machine() -> str:
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    return (
        f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
