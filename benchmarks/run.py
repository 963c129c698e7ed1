"""All benchmarks, as docs/benchmarks.md: python benchmarks/run.py --write docs/benchmarks.md."""

import argparse
import datetime
import sys
from importlib.metadata import version
from pathlib import Path

from harness import machine, run

HEAD = """# Benchmarks

Written by `make bench` (`python benchmarks/run.py --write docs/benchmarks.md`) on {date}:
{machine}; {versions}.

Everything is a ratio between two things measured in turn, A B A B, in one run; the median
comes first, and the range that was seen in brackets. The first call of each is not counted:
it loads compiled code from the disk, or compiles it (some 20 s once for all loops after an
installation). The machine was not quiet, so the ratios mean more than the seconds."""

CSR = """## One pass over a CSR matrix

200,000 rows x 1,000,000 columns, 100 entries a row, two classes; a whole `fit`, checks
included (`benchmarks/csr_pass.py`). Goals: at least 1.5 times as fast as scikit-learn's
`SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", fit_intercept=False)`; two
coupled views cost at most 1.5 times the concatenation."""

COVARIANCE = """## Learners with a covariance

`benchmarks/covariance.py`: whole `partial_fit` or `fit`, checks included, on rows with random
labels, so that nearly every row causes an update. Goals: full at 300 columns at least 5 times
as fast as the same step in NumPy; full at 2,000 columns within 2.5 times the time that reading
and writing one triangle takes at the memory's bandwidth; low-rank on 3,000 columns and 1,000
rows at least 10 times as fast as full; diagonal AROW on the matrix above at most 2 times the
cost of PA-I. The bandwidth is that of one thread which multiplies 1 GiB of float64 by a
constant, in place: twice its bytes over the median time."""

STREAM = """## Training from a file

24 categorical columns in three views, whole processes (`benchmarks/stream.py`). Goals: as
many rows a second as Vowpal Wabbit, a peak under 1 GB, the first trained row within 3 s of a
warm start, `--help` under 0.3 s. Vowpal Wabbit reads the same rows in its own text format,
one namespace a view, with hinge loss and `-b 20`; Crossview reads Parquet with plain strings."""

MACHINES = """## Multi-view machines

`benchmarks/machines.py`: passes of the loop over 24 one-hot features in three views, k = 8,
AdaGrad, logistic loss, one core; rows in memory. Goals: at least 1000 times the rows a second
of River's `FMClassifier`, 50 times Vowpal Wabbit's `--lrq` over the three pairs of namespaces
(a whole process less its start), 3 times a field-aware factorization machine (libffm makes
about half a million a second on such a core, so 1.6 million is aimed for); cost linear in k,
features a row and views. xLearn's field-aware machine is measured where it is installed
(`pip install xlearn` builds it)."""

MACHINES_SEEN = """The loop over factors works on eight numbers at a time
(`kernels/lanes.py`; `tests/test_lanes.py` looks at the compiled code for instructions on eight
lanes). With AdaGrad, factors and their sums are in single precision, as in libffm and xLearn,
and sums over a row in double: a feature is one line of 64 bytes, from a table of 21 MB.
Memory: k (columns + views) numbers and as many for AdaGrad, nothing a row. Cost grows less than
in proportion with factors, features and views, as each row has a part that stays the same; four
factors are slower than eight, which have a loop of their own."""

KECO = """## KeCo

`benchmarks/keco.py`. Goals: the whole grid of one experiment on Ionosphere (80 settings, 10
folds, 2 views, 1,000 steps) in under 10 s on one core, and at least 100 times as fast as with
one kernel value at a time (the slow reference of the tests, whose kernel is a NumPy
expression); `fit` on 100,000 rows of two views with Fourier features in one pass in under 20 s; a
budgeted stream of 1,000,000 rows in constant memory. Rows are Gaussian, 34 columns in the first
and 40 in the other two."""

PERFORMANCE = """## Training for a measure

`benchmarks/performance.py`. Goals: the search for the most violated labeling of F1 in n log n
steps; training for F1 on a9a (32,561 rows, 123 columns) to a gap of 0.001 in under 3 s (SVM^perf,
whose search is quadratic, takes about a minute at its c = 20 and over three at c = 200); on
100,000 rows of 1,000,000 sparse columns in two views in under 2 minutes and 2 GB."""

PERFORMANCE_SEEN = """SVM^perf's c is C1 = 25 c / n² in `scaling="published"`: it scales labels by
50 / n. The wide rows have 100 entries each, of columns as uneven as words; a tenth is positive.
With C2 > 0 each cut is a linear system of a million unknowns, solved by conjugate gradients, and
nearly all of the time goes to its products. The two lines with C2 > 0 are of
`benchmarks/performance.py --wide C2`, by itself."""

LIMITS = """## Where the time goes

The pass over a CSR matrix reads 12 bytes an entry from memory and touches one weight an
entry, at random, in 8 MB. In file order the entries come at the speed of memory and the
weights decide; in random order each row begins with a miss, which is why rows are asked for
two ahead. In `train`, reading, encoding (looking codes up, sorting slots, writing rows) and
learning run in three threads. A full covariance moves its triangle through memory three
times a step (T'x, then T read and written). Low-rank reads the kept rows twice a step; where
they are dense that is 24 MB at the end of 1,000 rows of 3,000 columns against 108 MB for the
full triangle, so 10 times is out of reach there. Diagonal AROW touches twice the memory that
PA-I touches. Importing scikit-learn and Numba is most of the start
(`python -X importtime`)."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", type=Path)
    parser.add_argument("--data", type=Path, help="folder that keeps the generated files")
    options = parser.parse_args()
    packages = ("numpy", "scikit-learn", "numba", "pyarrow", "vowpalwabbit", "river")
    head = HEAD.format(
        date=datetime.date.today().isoformat(),
        machine=machine(),
        versions=", ".join(f"{p} {version(p)}" for p in packages),
    )
    # each in a process of its own: one that has held a large matrix would lend its
    # size to the processes that it starts, and so to their peak memory
    here = Path(__file__).parent
    keep = ["--data", options.data] if options.data else []
    csr = run([sys.executable, here / "csr_pass.py"]).output.strip()
    covariance = run([sys.executable, here / "covariance.py"]).output.strip()
    stream = run([sys.executable, here / "stream.py", *keep]).output.strip()
    models = run([sys.executable, here / "machines.py"]).output.strip()
    parts = [head, CSR, csr, COVARIANCE, covariance, STREAM, stream]
    kernels = run([sys.executable, here / "keco.py"]).output.strip()
    measures = run([sys.executable, here / "performance.py"]).output.strip()
    parts += [MACHINES, models, MACHINES_SEEN, KECO, kernels]
    parts += [PERFORMANCE, measures, PERFORMANCE_SEEN, LIMITS]
    text = "\n\n".join(parts) + "\n"
    if options.write:
        options.write.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
