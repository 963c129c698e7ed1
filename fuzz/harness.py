"""Trials by chance, in processes of their own: a crash, a hang or too much memory is seen as such.

Trial i draws all that it does from seed and i, so ``--only i`` repeats it.  This process loads
everything once; copies of it (fork) run some hundred trials each, and write down which they begin.
When one dies, the trial that it had begun has failed, and the next copy goes on behind it.
"""

import argparse
import faulthandler
import gc
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

# a trial that takes longer hangs, and one that asks for more is greedy
SECONDS, MEGABYTES = 120, 1024
# trials of one process, and those before the first one
BATCH, WARM = 500, 100
# how often a failure is printed
SHOWN = 3

# returns how a trial ended: "refused", "works" or the like.  What it raises is a failure
Trial = Callable[[np.random.Generator], str]


def parser(doc: str) -> argparse.ArgumentParser:
    """Return the options that all scripts share."""
    options = argparse.ArgumentParser(description=doc.partition("\n")[0])
    options.add_argument("--seconds", type=float, default=600.0)
    options.add_argument("--trials", type=int, default=10**9, help="stop after as many")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--jobs", type=int, default=os.cpu_count())
    options.add_argument("--only", type=int, help="run one trial in this process")
    return options


def memory_folder() -> str | None:
    """Return a folder in memory for the files of the trials, where there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def change_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Cut, insert or change bytes."""
    changed = bytearray(content)
    kind = rng.integers(4)
    if kind == 0:
        return bytes(changed[: rng.integers(len(changed))])
    if kind == 1:
        at = int(rng.integers(len(changed)))
        changed[at:at] = rng.bytes(int(rng.integers(1, 20)))
    for _ in range(int(rng.integers(1, 9))):
        changed[int(rng.integers(len(changed)))] = int(rng.integers(256))
    return bytes(changed)


def fuzz(trial: Trial, options: argparse.Namespace) -> int:
    """Run trials for some time, or some number of them; return 1 if one failed."""
    if options.only is not None:
        print(trial(np.random.default_rng([options.seed, options.only])))
        return 0
    gc.freeze()  # what is loaded by now is never searched again
    ends = Counter(failed=0)
    failures: Counter[str] = Counter()
    stop = time.monotonic() + options.seconds
    waiting: list[range] = []
    running: dict[int, Child] = {}
    first = 0
    while True:
        while len(running) < options.jobs and time.monotonic() < stop:
            if not waiting:
                if first >= options.trials:
                    break
                waiting.append(range(first, min(first + BATCH, options.trials)))
                first = waiting[0].stop
            child = Child.start(trial, options.seed, waiting.pop(), stop)
            running[child.pid] = child
        if not running:
            break
        pid, status = os.wait()
        child = running.pop(pid)
        for i, how in child.ends(status):
            ends[how.partition(" ")[0]] += 1
            if how.startswith("failed"):
                failures[how] += 1
                if failures[how] <= SHOWN:
                    print(f"trial {i} {how} (--seed {options.seed} --only {i})", flush=True)
            rest = range(i + 1, child.trials.stop)
        if status and rest:
            waiting.append(rest)
    gc.unfreeze()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    n, seconds = sum(ends.values()), used.ru_utime + used.ru_stime
    counts = ", ".join(f"{count:,} {how}" for how, count in sorted(ends.items()))
    print(f"{n:,} trials, {n / seconds:,.0f} per second of a core: {counts}")
    return int(ends["failed"] > 0)


def fuzz_files(
    doc: str,
    make_models: Callable[[Path], None],
    trial: Callable[[Path, np.random.Generator], str],
) -> int:
    """Try files in a folder that has models, with the options of the command line."""
    options = parser(doc).parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    with tempfile.TemporaryDirectory(dir=memory_folder()) as name:
        folder = Path(name)
        make_models(folder)
        for i in range(min(WARM, options.trials)):  # loads what all need
            with suppress(Exception):  # is found again
                trial(folder, np.random.default_rng([0, i]))
        return fuzz(lambda rng: trial(folder, rng), options)


class Child(NamedTuple):
    """A process that runs some trials."""

    pid: int
    log: int
    trials: range

    @classmethod
    def start(cls, trial: Trial, seed: int, trials: range, stop: float) -> "Child":
        """Begin with the first one."""
        with tempfile.TemporaryFile() as file:
            log = os.dup(file.fileno())
        sys.stdout.flush()
        pid = os.fork()
        if pid:
            return cls(pid, log, trials)
        try:
            os.dup2(log, sys.stdout.fileno())
            os.dup2(log, sys.stderr.fileno())
            _work(trial, seed, trials, stop, log)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)

    def ends(self, status: int) -> list[tuple[int, str]]:
        """Return how each trial ended."""
        os.lseek(self.log, 0, os.SEEK_SET)
        with os.fdopen(self.log, "rb") as file:
            lines = file.read().decode(errors="replace").splitlines()
        ended, at, trace = [], self.trials.start, []
        for line in lines:
            word, _, rest = line.partition(" ")
            if word == "@begin":
                at, trace = int(rest), []
            elif word == "@end":
                ended.append((at, rest))
            else:
                trace.append(line.strip())
        if status:
            code = os.waitstatus_to_exitcode(status)
            where = [line for line in trace if "/crossview/" in line][:1] or trace[-1:]
            ended.append((at, f"failed with exit status {code} {where}"))
        return ended


def _work(trial: Trial, seed: int, trials: range, stop: float, log: int) -> None:
    """Run the trials; say each before it begins, and how it ended."""
    faulthandler.enable(log)
    faulthandler.register(signal.SIGALRM, log, chain=True)  # shows where it hangs, and ends it
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for i in trials:
        if time.monotonic() > stop:
            return
        os.write(log, f"\n@begin {i}\n".encode())
        signal.alarm(SECONDS)
        # allocators keep addresses for later, of an allocation that a file asked for, too
        used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (used + MEGABYTES * 2**20, resource.RLIM_INFINITY))
        try:
            how = trial(np.random.default_rng([seed, i]))
        except BaseException as error:
            how = f"failed {_words(error)}"
        signal.alarm(0)
        os.write(log, f"\n@end {how}\n".encode(errors="replace"))


def _words(error: BaseException) -> str:
    """Return an exception, and where it was raised, as one line."""
    where = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in where if "/crossview/" in frame.filename][-1:] or where[-1:]
    places = ", ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in ours)
    return " ".join(f"{type(error).__name__}: {str(error)[:200]} ({places})".split())
