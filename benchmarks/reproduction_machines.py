"""The section of docs/reproduction.md on multi-view machines.

python benchmarks/reproduction.py --only machines
"""

from __future__ import annotations

import gzip
import sys
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import shared_data
from crossview import (
    FactorizationMachineClassifier,
    FactorizationMachineRegressor,
    MultiView,
    MultiViewMachineClassifier,
    MultiViewMachineRegressor,
    SupportTensorMachineClassifier,
)
from harness import table

SETS = ("movielens_100k", "criteo_sample", "ipinyou_sample", "breast-cancer", "uci_mfeat", "start")
SEEDS = range(5)


def say(*words: object) -> None:
    print(*words, file=sys.stderr, flush=True)


def settings(alphas: list[float], rates: list[float]) -> list[dict[str, float]]:
    return [{"alpha": a, "learning_rate": r} for a in alphas for r in rates]


def named(setting: dict) -> str:
    return ", ".join(f"{value:g}" for value in setting.values())


def spread(values: object, digits: int = 4) -> str:
    return f"{np.mean(values):.{digits}f} ± {np.std(values):.{digits}f}"


def best_of(model: BaseEstimator, grid: list[dict], X: object, y: np.ndarray) -> dict:
    """The setting, and its passes, with the lowest loss on a held-out part of these rows."""
    found = []
    for setting in grid:
        fitted = clone(model).set_params(**setting).fit(X, y)
        found.append((fitted.validation_loss_.min(), fitted.n_iter_, setting))
        say("  ", named(setting), fitted.n_iter_, f"{found[-1][0]:.4f}")
    _, passes, setting = min(found, key=lambda one: one[0])
    return {**setting, "n_epochs": passes}


def refitted(model: BaseEstimator, chosen: dict, X: object, y: np.ndarray) -> tuple:
    """On all rows, with as many passes as chosen; and the seconds it took."""
    start = time.perf_counter()
    fitted = clone(model).set_params(**chosen, early_stopping=False).fit(X, y)
    return fitted, time.perf_counter() - start


# --- ratings ------------------------------------------------------------------

RATING_GRID = settings([0.03, 0.05, 0.07, 0.1, 0.15], [0.05, 0.1])
MVM, FM = MultiViewMachineRegressor, FactorizationMachineRegressor
PAIR, TRIPLE = ["user", "item"], ["user", "item", "week"]
RATINGS: dict[str, tuple[str, Callable[[], BaseEstimator]]] = {
    "FM, all pairs": ("views", FM),
    "linear": ("pasted", MVM),
    "FM, pairs across views": ("views", lambda: FM(cross_view_only=True)),
    "MVM": ("views", MVM),
    "MVM, groups user item + user item week": ("views", lambda: MVM(groups=[PAIR, TRIPLE])),
}  # fmt: skip


def movielens() -> str:
    X, y, _, _ = shared_data.movielens()

    runs = [(PAIR, list(RATINGS)[:4]), (TRIPLE, list(RATINGS))]
    lines, of_fm = [], None
    for views, names in runs:
        for name in names:
            form, make = RATINGS[name]
            model = make().set_params(random_state=0)
            say(views, name)
            own = X.select(views)
            own = own.matrix if form == "pasted" else own
            rmse, mae, seconds, chosen = [], [], [], None
            for seed in SEEDS:
                order = np.random.default_rng(seed).permutation(len(y))
                test, train = order[: len(y) // 10], order[len(y) // 10 :]
                if chosen is None:
                    chosen = best_of(model, RATING_GRID, own[train], y[train])
                fitted, took = refitted(model, chosen, own[train], y[train])
                error = fitted.predict(own[test]) - y[test]
                rmse.append(np.sqrt(np.mean(error**2)))
                mae.append(np.mean(np.abs(error)))
                seconds.append(took)
            if name == "FM, all pairs" and of_fm is None:
                of_fm = rmse
            less = np.subtract(rmse, of_fm) if of_fm else np.zeros(1)
            lines.append(
                [", ".join(views), name, f"{rmse[0]:.4f}", spread(rmse),
                 f"{less.mean():+.4f} ({sum(less < 0)} of {less.size})" if any(less) else "",
                 f"{np.mean(mae):.4f}", named(chosen), f"{np.mean(seconds):.1f}"]
            )  # fmt: skip
            say(*lines[-1])
    header = ["views", "model", "RMSE, first split", "RMSE", "less FM's of user, item", "MAE",
              "alpha, rate, passes", "s a fit"]  # fmt: skip
    return "\n\n".join([RATED, table(header, lines), RATED_SEEN])


# --- clicks -------------------------------------------------------------------

CLICK_GRID = settings([0.003, 0.01, 0.03, 0.1, 0.3], [0.02, 0.1])
TENSOR_GRID = [{"alpha": 10.0**e} for e in np.linspace(-5, -0.5, 10)]


def classifiers(k: int) -> dict[str, tuple[str, BaseEstimator]]:
    """What is compared: on pasted columns or on views."""
    MVM, FM = MultiViewMachineClassifier, FactorizationMachineClassifier
    return {
        "FM, all pairs": ("views", FM(n_factors=k, random_state=0)),
        "linear": ("pasted", MVM(random_state=0)),
        "FM, pairs across views": ("views", FM(n_factors=k, cross_view_only=True, random_state=0)),
        "MVM": ("views", MVM(n_factors=k, random_state=0)),
        "STM": ("views", SupportTensorMachineClassifier(loss="logistic", random_state=0)),
    }


def row_losses(y: np.ndarray, p: np.ndarray) -> np.ndarray:
    return -np.log(np.where(y, p, 1.0 - p))


def chosen_by(
    model: BaseEstimator, grid: list[dict], X: object, y: np.ndarray, parts: list[tuple]
) -> tuple[dict, float]:
    """The setting with the lowest log loss on rows that it neither learned nor stopped by."""
    found = []
    for setting in grid:
        losses, passes = [], []
        for train, held_out in parts:
            fitted = clone(model).set_params(**setting).fit(X[train], y[train])
            p = fitted.predict_proba(X[held_out])[:, 1]
            losses.append(np.mean(row_losses(y[held_out], p)))
            passes.append(fitted.n_iter_)
        found.append((np.mean(losses), setting, int(np.median(passes))))
        say("  ", named(setting), passes, f"{found[-1][0]:.5f}")
    loss, setting, passes = min(found, key=lambda one: one[0])
    return {**setting, "n_epochs": max(passes, 1)}, loss


def clicks(X: MultiView, y: np.ndarray, test: np.ndarray, parts: list[tuple], digits: int) -> str:
    """Fit on all rows but the test part, with five starts and orders; score the test part."""
    train = np.setdiff1d(np.arange(len(y)), test)
    rate, own = y[train].mean(), y[test].mean()
    lines, each = [], {}
    dev = np.mean([np.mean(row_losses(y[b], np.full(len(b), y[a].mean()))) for a, b in parts])
    for text, p, chosen_at in (
        ("rate of the training part", rate, f"{dev:.{digits}f}"),
        ("rate of the test part", own, ""),
    ):
        value = np.mean(row_losses(y[test], np.full(len(test), p)))
        mean = f"{100 * p:.2f}"
        lines.append([text, chosen_at, f"{value:.{digits}f}", "0.500", mean, "", "", ""])
    for name, (form, model) in classifiers(8).items():
        say(name)
        data = X.matrix if form == "pasted" else X
        chosen, dev = chosen_by(model, TENSOR_GRID if name == "STM" else CLICK_GRID, data, y, parts)
        loss, auc, mean, seconds = [], [], [], []
        for seed in SEEDS:
            model = clone(model).set_params(random_state=seed)
            fitted, took = refitted(model, chosen, data[train], y[train])
            p = fitted.predict_proba(data[test])[:, 1]
            loss.append(row_losses(y[test], p))
            auc.append(roc_auc_score(y[test], p))
            mean.append(p.mean())
            seconds.append(took)
        each[name] = np.mean(loss, axis=0)
        gap = each[name] - each["FM, all pairs"]
        lines.append(
            [name, f"{dev:.{digits}f}", spread(np.mean(loss, axis=1), digits), spread(auc, 3),
             f"{100 * np.mean(mean):.2f}",
             f"{gap.mean():+.{digits}f} ± {gap.std() / np.sqrt(len(gap)):.{digits}f}"
             if gap.any() else "",
             named(chosen), f"{np.mean(seconds):.2f}"]
        )  # fmt: skip
        say(*lines[-1])
    header = ["model", "log loss when chosen", "log loss", "AUC", "mean prediction, %",
              "log loss less FM's", "alpha, rate, passes", "s a fit"]  # fmt: skip
    return table(header, lines)


def criteo() -> str:
    path = shared_data.folder("criteo_sample")
    hashes = range(14, 40)
    files = [
        pd.read_csv(
            path / f"criteo_{part}.tsv.gz", sep="\t", header=None, dtype=dict.fromkeys(hashes, str)
        )
        for part in ("train", "dev", "test")
    ]
    sizes = [len(file) for file in files]
    train, dev, test = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    rows = pd.concat(files, ignore_index=True)
    count = rows.iloc[:, 1:14].to_numpy(float)
    with np.errstate(invalid="ignore"):
        bins = np.where(count < 0, -1.0, np.floor(np.log2(1.0 + np.maximum(count, 0.0))))
    kinds = {
        "counts": np.nan_to_num(bins, nan=-2.0).astype(int).astype(str),
        "categories": rows[hashes].fillna("missing").to_numpy(str),
    }
    encoder = OneHotEncoder(min_frequency=10, handle_unknown="infrequent_if_exist")
    X = MultiView(
        {v: sp.csr_array(clone(encoder).fit(k[train]).transform(k)) for v, k in kinds.items()}
    )
    say(X)
    found = clicks(X, rows[0].to_numpy() == 1, test, [(train, dev)], 4)
    return "\n\n".join([CRITEO, found, CRITEO_SEEN])


BID_TRIAL = {"alpha": 0.01, "learning_rate": 0.1, "n_epochs": 1, "early_stopping": False}
BIDS = {
    "user": ["IP", "region", "city", "useragent"],
    "page": ["adexchange", "domain", "slotid", "slotwidth", "slotheight", "slotvisibility",
             "slotformat", "slotprice"],
    "ad": ["creative", "advertiser"],
    "time": ["weekday", "hour"],
}  # fmt: skip


def ipinyou() -> str:
    path = shared_data.folder("ipinyou_sample")

    def lines(name: str) -> list[str]:
        return gzip.decompress((path / name).read_bytes()).decode().splitlines()

    fields = [line.rsplit("\t", 1)[0].split(":")[0] for line in lines("featindex.fm.txt.gz")]
    view_of = {field.lower(): view for view, own in BIDS.items() for field in own}
    views = np.array([view_of[field.lower()] for field in fields])
    parts = [lines(f"{part}.fm.txt.gz") for part in ("train", "test")]
    words = [line.split() for part in parts for line in part]
    y = np.array([line[0] == "1" for line in words])
    places = [[int(word.split(":")[0]) for word in line[1:]] for line in words]
    matrix = sp.csr_array(
        (np.ones(sum(map(len, places))), np.concatenate(places),
         np.cumsum([0, *map(len, places)])), (len(y), len(views))
    )  # fmt: skip
    columns = sp.csc_array(matrix)
    X = MultiView({v: sp.csr_array(columns[:, np.flatnonzero(views == v)]) for v in BIDS})
    say(X)
    train, test = np.split(np.arange(len(y)), [len(parts[0])])
    folds = StratifiedKFold(3, shuffle=True, random_state=0).split(train, y[train])
    folds = list(folds)
    found = clicks(X, y, test, folds, 5)
    seen = np.ravel(matrix[train].sum(axis=0)) > 0
    rows = np.ravel(matrix[test].sum(axis=0))
    new = {
        field: rows[own & ~seen].sum() / len(test)
        for field in dict.fromkeys(fields)
        for own in [np.array(fields) == field]
    }
    often = ", ".join(f"{field} {100 * s:.0f} %" for field, s in new.items() if s > 0.05)
    model = clone(classifiers(8)["FM, all pairs"][1]).set_params(**BID_TRIAL)

    def mean(learned: np.ndarray, scored: np.ndarray) -> str:
        p = model.fit(X[learned], y[learned]).predict_proba(X[scored])[:, 1].mean()
        return f"{100 * p:.2f} % (clicks: {100 * y[scored].mean():.2f} %)"

    shift = [
        f"Test rows with a value that no training row has: {often}.",
        "The mean prediction of the FM with alpha = 0.01, rate 0.1 and one pass:",
        f"{mean(*folds[0])} on a fold, {mean(train, train)} on the rows that it learned,",
        f"{mean(train, test)} on the test part. Its intercept is {model.intercept_[0]:.1f};",
        "the log odds of a click in the training part are "
        f"{np.log(y[train].mean() / (1 - y[train].mean())):.1f}.",
    ]
    return "\n\n".join([BID, found, "\n".join(shift), BID_SEEN])


# --- dense views ----------------------------------------------------------------

DENSE_GRID = settings([0.001, 0.01, 0.1], [0.05, 0.2])
DENSE_TENSOR_GRID = [{"alpha": 10.0**e} for e in range(-5, 1)]
# fewer, and fewer passes, where a fit takes long
WIDE_GRID = settings([0.001, 0.01, 0.1], [0.1])
WIDE_TENSOR_GRID = [
    {"alpha": 0.001, "learning_rate": 0.1, "init_scale": s} for s in (0.05, 0.1, 0.2)
]


def dense(X: np.ndarray, y: np.ndarray, widths: list[int], wide: bool = False) -> str:
    """Accuracy and log loss in 5 folds, everything chosen inside of each training part."""
    lines = []
    for name, (form, model) in classifiers(8).items():
        say(name)
        model.set_params(validation_fraction=0.2, views=None if form == "pasted" else widths)
        if name == "STM":
            grid = WIDE_TENSOR_GRID if wide else DENSE_TENSOR_GRID
        else:
            grid = WIDE_GRID if wide else DENSE_GRID
        if wide:
            model.set_params(n_epochs=30, optimizer="adagrad")
        accuracy, loss, seconds, choices = [], [], [], []
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
            scaler = StandardScaler().fit(X[train])
            own, unseen = scaler.transform(X[train]), scaler.transform(X[test])
            chosen = best_of(model, grid, own, y[train])
            fitted, took = refitted(model, chosen, own, y[train])
            p = fitted.predict_proba(unseen)
            accuracy.append(100 * accuracy_score(y[test], fitted.classes_[p.argmax(axis=1)]))
            loss.append(log_loss(y[test], p, labels=fitted.classes_))
            seconds.append(took)
            choices.append(named(chosen))
        lines.append(
            [name, spread(accuracy, 1), spread(loss, 3), "; ".join(choices),
             f"{np.mean(seconds):.2f}"]
        )  # fmt: skip
        say(*lines[-1])
    header = ["model", "accuracy", "log loss", "alpha, rate, passes of each fold", "s a fit"]
    return table(header, lines)


def breast_cancer() -> str:
    X, y = load_breast_cancer(return_X_y=True)
    return "\n\n".join([TUMORS, dense(X, y, [10, 10, 10]), TUMORS_SEEN])


def mfeat() -> str:
    path = shared_data.folder("uci_mfeat")
    names = ("fac", "fou", "kar", "mor", "pix", "zer")
    read = [pd.read_csv(path / f"mfeat-{v}.csv.gz").to_numpy(float) for v in names]
    blocks = [t[:, :-1] for t in read]
    widths = [b.shape[1] for b in blocks]
    found = dense(np.hstack(blocks), read[0][:, -1].astype(int), widths, wide=True)
    return "\n\n".join([DIGITS, found, DIGITS_SEEN])


# --- the start ------------------------------------------------------------------

STARTS = {
    "signs, 0.02": {"init": "signs", "init_scale": 0.02},
    "printed, 0.01": {"init": "printed", "init_scale": 0.01},
    "printed, 0.1": {"init": "printed", "init_scale": 0.1},
    "printed, 0.3": {"init": "printed", "init_scale": 0.3},
}


def start() -> str:
    lines = []
    runs = [("adagrad", 0.1), ("adagrad", 0.2), ("sgd", 0.002), ("lbfgs", 0.1), ("als", 0.1)]
    for optimizer, rate in runs:
        words = f"{optimizer}, rate {rate:g}" if optimizer in ("adagrad", "sgd") else optimizer
        for name, how in STARTS.items():
            scores, passes, seconds = [], [], []
            for seed in SEEDS:
                random = np.random.default_rng(seed)
                X = random.normal(size=(4000, 10))
                y = X[:, ::2].prod(axis=1) + 0.1 * random.normal(size=4000)
                model = MultiViewMachineRegressor(
                    [2] * 5, n_factors=8, alpha=1e-4, optimizer=optimizer, learning_rate=rate,
                    n_epochs=300, n_iter_no_change=30, random_state=seed, **how,
                )  # fmt: skip
                begin = time.perf_counter()
                model.fit(X[:3000], y[:3000])
                seconds.append(time.perf_counter() - begin)
                scores.append(model.score(X[3000:], y[3000:]))
                passes.append(model.n_iter_)
            lines.append(
                [words, name,
                 f"{np.mean(scores):.3f}", f"{min(scores):.3f}", f"{max(scores):.3f}",
                 f"{np.median(passes):g}", f"{np.mean(seconds):.2f}"]
            )  # fmt: skip
            say(*lines[-1])
    header = ["optimizer", "start", "R²", "lowest", "highest", "passes", "s a fit"]
    return "\n\n".join([START, table(header, lines), START_SEEN])


def section(names: list[str]) -> str:
    """The whole section, of the sets that are named."""
    makers = [movielens, criteo, ipinyou, breast_cancer, mfeat, start]
    parts = [HEAD]
    for name, make in zip(SETS, makers, strict=True):
        if name in names:
            say(name)
            try:
                parts.append(make())
            except pytest.skip.Exception as reason:
                parts.append(f"{name} left out: {reason}")
    return "\n\n".join(parts)


HEAD = """## Multi-View Machines

Cao, Zhou, Li and Yu (2016). Public sets at hand; the figures are not to be set beside the paper's
own. "linear" is a machine with one view, all columns pasted; "FM" the factorization machine;
"STM" the support tensor machine with logistic loss (the highest order only, rank one).
Unless said otherwise: AdaGrad; each model chooses among as many settings as all others (alpha
times learning rate; alpha for the STM), on rows that are not in the test part; then it is
fitted once more on all training rows, with the number of passes that was best and without
early stopping. "alpha, rate, passes" is what was chosen. The ranges of alpha for ratings and
clicks were moved up once, as the best of the held-out rows lay at their upper ends; the test
figures of the first ranges had been seen by then. Seconds were measured while other programs
ran, and say no more than the order of magnitude."""

RATED = """### MovieLens-100k

Ratings of 1 to 5 in random 90/10 splits, k = 16. Views: user (id, age, sex, occupation), item
(id, genres), week of the rating. Mean ± standard deviation of five splits. The setting and the
passes are chosen by a tenth of the training part of the first split, out of alpha 0.03, 0.05,
0.07, 0.1, 0.15 times rate 0.05, 0.1, and kept for the other four, whose test rows therefore
had a small part in choosing; the first split, shown by itself, is free of it. "less FM's": the
mean difference to the FM of all pairs on user and item, and in how many splits the RMSE is
lower. Predictions are not clipped."""

RATED_SEEN = """What is seen:

- Two views: the MVM is at 0.892, below 0.906, which was the goal, and below the FM of all pairs
  in each split (by 0.0018 on average). The FM of pairs across views is better still, by 0.0004:
  with two views it has the same interactions, and linear weights besides. So what is gained
  comes of leaving out pairs within a view, and not of the product form.
- Three views: the MVM over all three reaches 0.896, below the goal of 0.90, but it is worse
  than without the week, and than every FM: the weights of a user and an item must serve with and
  without the week. As a sum of two machines, of user and item and of all three, it is at 0.890,
  the lowest RMSE of the table: 0.002 less than without the week and than the FM of pairs
  across views, less than the splits differ."""

CRITEO = """### Criteo, a sample

Was the advertisement clicked? Two views: 13 counts, one-hot by the whole part of log2(1 + x),
and 26 categories, one-hot, those with fewer than 10 training rows together. k = 8. Each of ten
settings (alpha 0.003, 0.01, 0.03, 0.1, 0.3 times rate 0.02, 0.1; ten alphas from 1e-5 to
0.3 for the STM) is fitted on the training part, stopped by a tenth of it, and scored on the dev
part; the best is fitted on both and scored on the 391 rows of the test part. Mean ± standard
deviation of five starts and orders of the rows; for the difference to the FM the standard error
over the test rows."""

CRITEO_SEEN = """What is seen:

- The linear model is not beaten. On 391 rows the differences are about as large as their
  standard errors. All models are clearly better than the rate of clicks. The MVM is the best on
  the dev part, by which it was chosen, and the last on the test part, 0.004 behind the FM. Models
  with factors are at their best after one pass, or under the highest alpha: 7,600 rows
  of anonymous hashes are too few to learn interactions from."""

BID = """### iPinYou, a sample

Was the advertisement clicked? Four views: user (IP, region, city, browser), page and slot, ad,
time; all one-hot. 255 clicks in 26,773 training rows, 50 in 21,150 test rows. As above, but
that the settings are scored by three stratified folds of the training part, and the passes are
the median of theirs."""

BID_SEEN = """What is seen:

- All but the STM are a little better than the constant rate of the training part, and hardly
  order the rows (AUC 0.48 to 0.56). There is little to learn from 255 clicks.
- The test part is of another time: every row has a creative and a weekday that the training
  part does not have, most a new hour and a new IP. And its rate of clicks is a quarter.
- `fit` begins with the intercept at the log odds of a click. While it began at 0, the rest was
  learned by columns, and missing where these are new: every model was then worse than the
  constant rate (log loss 0.021 to 0.029).
- Early stopping is noisy: a tenth of a fold's training part holds 17 clicks, and the best pass
  is often among the first.
- The differences to the FM have small standard errors, as nearly all rows are without a click:
  they say whose mean prediction is higher, not who knows more."""

TUMORS = """### Breast cancer

Three views of ten columns (mean, error, worst), standardized on the training part; k = 8. Mean ±
standard deviation of 5 folds. Six settings (alpha 0.001, 0.01, 0.1 times rate 0.05, 0.2; alphas
from 1e-5 to 1 for the STM), chosen in each training part by a fifth of it."""

TUMORS_SEEN = """What is seen:

- All but the STM are within the spread over folds of each other, and the linear model is not
  beaten. The STM has no terms of lower order, and loses nine points by it."""

DIGITS = """### Handwritten digits in six views (uci_mfeat)

Ten classes, 649 columns; in the same way as breast cancer, but with three settings (alpha 0.001,
0.01, 0.1 with rate 0.1) and 30 passes at most, as a fit takes long. The STM has AdaGrad too
(`init_scale` 0.05, 0.1, 0.2 with alpha 0.001 and rate 0.1, which is what its three numbers and the
passes say): its own optimizer took more than a minute a fit here. The range
of `init_scale` is from a trial on the first fold."""

DIGITS_SEEN = """What is seen:

- Linear and both FM are equally good, and the MVM is 0.3 to 0.6 points and up to 0.010 of
  log loss behind: its interactions of up to six dense views are not needed here. Both FM
  need the highest alpha. The STM, with nothing but products of six views, is far behind,
  and learns only where its start is small: with `init_scale` as it comes (1) its first scores
  have the size of the product of six lengths, and in a trial it stayed at 10 %, which is
  guessing."""

START = """### The start

y = the product of one column of each of five views (two columns each, standard normal) + noise
of 0.1; 3000 rows to learn, of which a tenth says when to stop (30 passes without a gain, 300 at
most), 1000 to test; k = 8, alpha = 1e-4; five draws. The highest R² that is possible is about
0.99. "signs" is the library's start of the bias rows, "printed" the paper's, all weights
N(0, s²); the number is `init_scale`."""

START_SEEN = """What is seen:

- With the paper's plain gradient steps (sgd), L-BFGS and alternating least squares the
  interaction is found from the library's start in every draw, and from the printed one with
  0.01 in none: all gradients are products of four small numbers. With 0.3 the printed start does
  as well as the library's, which does not have to know the right size.
- AdaGrad divides by the size of the gradients, so small ones do not stop it: every start works.
  The library's takes the most passes, as it first tries what the lower orders can do; with the
  rate 0.05 and an alpha of 0.01 early stopping often gave up before."""
