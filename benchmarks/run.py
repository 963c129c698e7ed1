"""Run all benchmarks: python benchmarks/run.py --write docs/benchmarks.md."""

import argparse
import datetime
import sys
from importlib.metadata import version
from pathlib import Path

from harness import machine, run

HEAD = """# Benchmarks

How fast is Crossview, compared with scikit-learn, River, Vowpal Wabbit, SOL, libffm and xLearn? And
does it meet its own goals of speed and memory? Every section names its goal and its command.

Written on {date} by `make bench`, that is `python benchmarks/run.py --write docs/benchmarks.md`:
{machine}; {versions}.

Run the commands from the project's root, in an environment with `pip install -e '.[bench,dev]'`.
The SVM section reads the data set a9a: `CROSSVIEW_DATA` names the folder that holds it.

Contents:

- [One pass over a CSR matrix](#one-pass-over-a-csr-matrix)
- [One row at a time](#one-row-at-a-time)
- [Learners with a covariance](#learners-with-a-covariance)
- [Training from a file](#training-from-a-file)
- [Training from text with views](#training-from-text-with-views)
- [Multi-view machines](#multi-view-machines)
- [KeCo](#keco)
- [SVMs trained for a measure](#svms-trained-for-a-measure)
- [Growth](#growth)
- [Memory](#memory)
- [Comparisons by two workers](#comparisons-by-two-workers)
- [Where the time goes](#where-the-time-goes)

Every ratio compares two tasks that were measured alternately (A B A B) in one run. It is the
median, with the observed range in parentheses. The first call of each task is not counted: it
loads compiled code from the disk cache, or compiles it (a minute or two for all loops, once after
an installation). Ratios are more reliable than seconds."""

CSR = """## One pass over a CSR matrix

Is a pass faster than scikit-learn's, and what do two coupled views cost?

Command: `python benchmarks/csr_pass.py`

200,000 rows x 1,000,000 columns, 100 entries per row, two classes. A whole `fit` is timed, input
validation included. Goals:

- at least 1.5 times as fast as scikit-learn's `SGDClassifier(loss="hinge", penalty=None,
  learning_rate="pa1", fit_intercept=False)`;
- two coupled views cost at most 1.5 times as much as their concatenation."""

SINGLE = """## One row at a time

How long does a learner take to predict a single row, and to learn it?

Command: `python benchmarks/single_rows.py`

Processor time per call of `predict_one` and of `learn_one`, in µs; two classes, and two views in
the last two columns. Goal: 10,000 predictions per second, that is 100 µs, for a learner. A stack
has 9 experts for one view and 14 for two, each of which scores the row."""

COVARIANCE = """## Learners with a covariance

What does a covariance cost in each of its forms: full, low-rank and diagonal?

Command: `python benchmarks/covariance.py`

A whole `partial_fit` or `fit` is timed, input validation included. Labels are random, so nearly
every row causes an update. Goals:

- full, 300 columns: at least 5 times as fast as the same step in NumPy;
- full, 2,000 columns: within 2.5 times the time that reading and writing one triangle takes at
  the bandwidth of the memory (one thread multiplies 1 GiB of float64 by a constant, in place;
  the bandwidth is twice its bytes over the median time);
- low-rank, 3,000 columns and 1,000 rows: at least 10 times as fast as full;
- diagonal AROW on the matrix of the first section: at most 2 times the cost of PA-I."""

STREAM = """## Training from a file

How fast does `crossview train` learn from a file, and how much memory does it use?

Command: `python benchmarks/stream.py`

24 categorical columns in three views; whole processes are timed. Vowpal Wabbit reads the same
rows in its own text format, one namespace per view, with hinge loss and `-b 20`. Crossview reads
Parquet with plain strings. Both learn the rows in order (`--in-order`). Goals:

- as many rows per second as Vowpal Wabbit;
- a peak memory under 1 GB;
- 200 rows learned within 1.2 s of a warm start, and `--help` in under 0.3 s."""

FORMATS = """## Training from text with views

How fast does `crossview train` learn from the files of other programs, and what does it need?

Command: `python benchmarks/formats.py` (SOL is measured where `sol_train` is on the PATH)

The same rows as above, one-hot; PA-I on all columns, one pass in order. Whole processes are timed.
A first pass finds labels and columns, while scikit-learn loads; a second one learns. scikit-learn
reads the file into memory. Goals:

- from svmlight text at most 0.8 of SOL's time, from Vowpal Wabbit text at most 0.4 of its time;
- svmlight text parsed with at least 500 MB/s on one core;
- a peak memory under 300 MB, of which imports are 140 MB
  (`import crossview.cli.commands.train`)."""

FORMATS_SEEN = """SOL keeps the weights and a count of errors. `train` also updates losses, ranks,
a calibration, a threshold and the order of the labels in the same pass, and imports scikit-learn
and Numba first: most of the time on 200 rows."""

MACHINES = """## Multi-view machines

How many rows per second does a multi-view machine learn, and how does its cost grow?

Command: `python benchmarks/machines.py`

One core makes passes over rows in memory: 24 one-hot features in three views, k = 8, AdaGrad,
logistic loss. Goals:

- at least 1000 times the rows per second of River's `FMClassifier`;
- 50 times those of Vowpal Wabbit's `--lrq` over the three pairs of namespaces (a whole process
  minus its start);
- 3 times those of a field-aware factorization machine, and 1.6 million;
- cost linear in k, features per row and views.

libffm is measured where its program `ffm-train` is on the PATH, xLearn where it is installed
(`pip install xlearn` builds it): both on one core, a field per view, with the time of eleven passes
minus that of one."""

MACHINES_SEEN = """The loop over the factors processes eight numbers at a time
(`kernels/lanes.py`; `tests/kernels/test_lanes.py` checks the compiled code for instructions on 8
lanes). With AdaGrad, factors and their sums are in single precision, as in libffm and xLearn,
and sums over a row in double precision. A feature is one line of 64 bytes, from a table of 21
MB.

Memory: k (columns + views) numbers and as many for AdaGrad; nothing per row. The cost grows more
slowly than factors, features and views, because each row has a constant part. Four factors are
slower than eight, which have a specialized loop.

The last table says what binds the pass. *Memory accesses alone* is a loop that reads and writes a
random line of 64 bytes for each feature. A table beyond the caches takes as long as those
accesses, and only a second core helps; within the caches arithmetic comes on top. Asking
for the lines one row ahead was tried: between 12 % slower and 25 % faster, so it was left out.
*Two threads* is `deterministic=False`: they share the parameters without locks (Hogwild), and wait
for each other where rows touch the same lines: it pays beyond the caches, and can be slower
within."""

KECO = """## KeCo

How long do a grid search, an approximate fit and a long stream take?

Command: `python benchmarks/keco.py`

Rows are Gaussian, with 34 columns in the first table and 40 in the other two. Goals:

- the grid search of one experiment on Ionosphere (80 settings, 10 folds, 2 views, 1,000 steps)
  in under 10 s on one core, and at least 100 times as fast as with one kernel value at a time
  (the slow reference of the tests, whose kernel is a NumPy expression);
- `fit` on 100,000 rows of two views with Fourier features, one pass, in under 20 s;
- a stream of 1,000,000 rows with a budget, in constant memory.

The second table computes the RBF kernel of all pairs of 3,000 rows of 500 columns. A value is the
same bits in every call, which a product of matrices by BLAS does not promise; for dense rows BLAS
is faster."""

PERFORMANCE = """## SVMs trained for a measure

How long does it take to find the most violated labeling, and to train for F1?

Command: `python benchmarks/performance.py`

Goals:

- the search for the most violated labeling of F1 in n log n steps;
- training for F1 on a9a (32,561 rows, 123 columns) to a gap of 0.001 in under 3 s (SVM^perf,
  whose search is quadratic, takes about a minute at its c = 20 and over three at c = 200);
- training on 100,000 rows of 1,000,000 sparse columns in two views in under 2 minutes and 2 GB."""

PERFORMANCE_SEEN = """With `scaling="published"`, SVM^perf's c is C1 = 25 c / n²: it scales
labels by 50 / n. The 2,318 rows are papers with the columns of Citeseer, citations and words, one
topic of six: more columns than rows. The factor of C2 takes a part of each fit; as a path, it is
made once, and each C1 starts from the cuts of the one before. The widest rows have 100 entries
each; their columns are as unevenly distributed as words, and a tenth of the rows is positive. With
C2 > 0 each cut requires a linear system in all columns that occur, solved by conjugate
gradients."""

WORKERS = """## Comparisons by two workers

How much faster is `compare` with two workers than with one, and how much memory does it need?

Command: `python benchmarks/workers.py --only internet_ads,memory --repeats 3` (without options on
two more tables, which takes half an hour)

Every setting of every model is tried (`budget=None`). The scores are compared first: they are the
same bits. *At most* is what the machine allows: two comparisons at the same time, each by one
worker, against one alone. The default comparison has a budget of 60 s; memory is the peak of the
sum over all processes, in which pages that they share count once. Goals:

- two workers at least 1.7 times as fast as one;
- 100,000 rows of 30 numbers, and 10,000 rows of four hashed texts, in under 1 GB."""

GROWTH = """## Growth

How do time and memory grow with rows and columns, and the rate with cores and workers?

Command: `python benchmarks/growth.py --figure docs/figures/cores.svg`

Whole processes of `crossview train --model pa:squared` and of Vowpal Wabbit on the rows of
[training from a file](#training-from-a-file); one `fit` on 200,000 rows of 100 entries each, for
columns, with the memory of the whole process; and million rows per second past the start, in one
process that is bound to so many cores, and on a cluster whose workers are bound to one core each
(10,000,000 rows, rounds and merges included). Goals: time linear in rows, and memory constant;
time per row constant in columns as far as the caches reach, and memory linear."""

GROWTH_SEEN = """![Million rows per second by cores and by workers](figures/cores.svg)

The picture is of the last table."""

MEMORY = """## Memory

How much memory does training take, shuffled and in order, however many rows there are?

Command: `python benchmarks/memory.py`

Peak of the whole process of `crossview train --model pa:squared`, 16 columns of numbers and 8 of
categories. Shuffled is the default. Goal: at most 1.2 GB shuffled, for any number of rows."""

LIMITS = """## Where the time goes

What limits the speed of each pass?

- **A pass over a CSR matrix** reads 12 bytes per entry from memory and accesses one weight per
  entry, at random, in 8 MB. In file order the entries arrive at the bandwidth of the memory, and
  the weights are the bottleneck. In random order each row begins with a cache miss, so rows are
  prefetched two ahead.
- **`crossview train`** reads, encodes (looks up codes, sorts columns, writes rows), learns, and
  updates the metrics (losses, calibration, threshold), each in a thread of its own. So two cores
  learn at most two rows in the processor time of one row. Importing scikit-learn and Numba is
  most of the start (`python -X importtime`). Of its memory some 140 MB are modules: scikit-learn
  with SciPy, Numba with LLVM, pyarrow. A batch of 65,536 rows with 24 categories is 19 MB, and up
  to four are under way; the weights are 6 MB. Batches half as long need 60 MB less and a tenth more
  time.
- **A full covariance** moves its triangle through memory three times per step (T'x, then T read
  and written).
- **A low-rank covariance** reads the stored rows twice per step. If they are dense, that is 24
  MB at the end of 1,000 rows of 3,000 columns against 108 MB for the full triangle, so a factor
  of 10 is out of reach there.
- **Diagonal AROW** accesses twice the memory that PA-I accesses."""


# script, what it is about, and what was seen
SECTIONS = (
    ("csr_pass.py", CSR, ""),
    ("single_rows.py", SINGLE, ""),
    ("covariance.py", COVARIANCE, ""),
    ("stream.py", STREAM, ""),
    ("formats.py", FORMATS, FORMATS_SEEN),
    ("machines.py", MACHINES, MACHINES_SEEN),
    ("keco.py", KECO, ""),
    ("performance.py", PERFORMANCE, PERFORMANCE_SEEN),
    ("growth.py --figure docs/figures/cores.svg", GROWTH, GROWTH_SEEN),
    ("memory.py", MEMORY, ""),
    ("workers.py --only internet_ads,memory --repeats 3", WORKERS, ""),
)
# scripts that keep the files which they generate
KEEPING = ("stream.py", "formats.py", "growth.py")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", type=Path)
    parser.add_argument("--data", type=Path, help="folder to keep the generated files in")
    options = parser.parse_args()
    packages = ("numpy", "scikit-learn", "numba", "pyarrow", "vowpalwabbit", "river")
    head = HEAD.format(
        date=datetime.date.today().isoformat(),
        machine=machine(),
        versions=", ".join(f"{p} {version(p)}" for p in packages),
    )
    # each in its own process: a process that has held a large matrix passes its peak
    # memory on to the processes that it starts
    here, parts = Path(__file__).parent, [head]
    keep = ["--data", options.data] if options.data else []
    for script, before, after in SECTIONS:
        name, *arguments = script.split()
        more = keep if name in KEEPING else []
        parts += [before, run([sys.executable, here / name, *arguments, *more]).output.strip()]
        parts += [after] if after else []
        if options.write:  # what is done is kept, whatever comes
            options.write.write_text("\n\n".join([*parts, LIMITS]) + "\n")
    if not options.write:
        print("\n\n".join([*parts, LIMITS]))


if __name__ == "__main__":
    main()
