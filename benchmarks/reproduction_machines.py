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
    "MVM, one group a pair": (
        "views", lambda: MVM(groups=[PAIR, ["user", "week"], ["item", "week"]])
    ),
    "MVM, groups user item + item rated": ("views", lambda: MVM(groups=[PAIR, ["item", "rated"]])),
}  # fmt: skip


def with_rated(X: MultiView, user: np.ndarray, item: np.ndarray, train: np.ndarray) -> MultiView:
    """One view more: the items that the row's user rates in the training part, of length 1."""
    shape = user.max() + 1, item.max() + 1
    rated = sp.csr_array((np.ones(len(train)), (user[train], item[train])), shape)
    scale = 1.0 / np.sqrt(np.maximum(rated.sum(axis=1), 1.0))
    rated = sp.csr_array(sp.diags_array(scale) @ rated)
    return MultiView({**{name: X[name] for name in X.layout.names}, "rated": rated[user]})


def movielens() -> str:
    X, y, user, item = shared_data.movielens()

    def data(views: list[str], train: np.ndarray) -> MultiView:
        own = X.select([v for v in views if v != "rated"])
        return with_rated(own, user, item, train) if "rated" in views else own

    runs = [(PAIR, list(RATINGS)[:4]), (TRIPLE, list(RATINGS)[:6])]
    runs += [([*PAIR, "rated"], ["FM, pairs across views", list(RATINGS)[6]])]
    lines, of_fm = [], None
    for views, names in runs:
        for name in names:
            form, make = RATINGS[name]
            model = make().set_params(random_state=0)
            say(views, name)
            rmse, mae, seconds, chosen = [], [], [], None
            for seed in SEEDS:
                order = np.random.default_rng(seed).permutation(len(y))
                test, train = order[: len(y) // 10], order[len(y) // 10 :]
                own = data(views, train)
                own = own.matrix if form == "pasted" else own
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
    found = clicks(X, y, test, list(folds), 5)
    return "\n\n".join([BID, found, BID_SEEN])


# --- dense views ----------------------------------------------------------------

DENSE_GRID = settings([0.001, 0.01, 0.1], [0.05, 0.2])
DENSE_TENSOR_GRID = [{"alpha": 10.0**e} for e in range(-5, 1)]


def dense(head: str, X: np.ndarray, y: np.ndarray, widths: list[int], seen: str) -> str:
    """Accuracy and log loss in 5 folds, everything chosen inside of each training part."""
    lines = []
    for name, (form, model) in classifiers(8).items():
        say(name)
        model.set_params(validation_fraction=0.2, views=None if form == "pasted" else widths)
        accuracy, loss, seconds, choices = [], [], [], []
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
            scaler = StandardScaler().fit(X[train])
            own, unseen = scaler.transform(X[train]), scaler.transform(X[test])
            grid = DENSE_TENSOR_GRID if name == "STM" else DENSE_GRID
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
    return "\n\n".join([head, table(header, lines), seen])


def breast_cancer() -> str:
    X, y = load_breast_cancer(return_X_y=True)
    return dense(TUMOURS, X, y, [10, 10, 10], TUMOURS_SEEN)


def mfeat() -> str:
    path = shared_data.folder("uci_mfeat")
    names = ("fac", "fou", "kar", "mor", "pix", "zer")
    read = [pd.read_csv(path / f"mfeat-{v}.csv.gz").to_numpy(float) for v in names]
    blocks = [t[:, :-1] for t in read]
    widths = [b.shape[1] for b in blocks]
    return dense(DIGITS, np.hstack(blocks), read[0][:, -1].astype(int), widths, DIGITS_SEEN)


# --- the start ------------------------------------------------------------------

STARTS = {
    "signs, 0.02": {"init": "signs", "init_scale": 0.02},
    "printed, 0.01": {"init": "printed", "init_scale": 0.01},
    "printed, 0.1": {"init": "printed", "init_scale": 0.1},
    "printed, 0.3": {"init": "printed", "init_scale": 0.3},
}


def start() -> str:
    lines = []
    runs = [("adagrad", 0.05), ("adagrad", 0.2), ("lbfgs", 0.05), ("als", 0.05)]
    for optimizer, rate in runs:
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
                [f"adagrad, rate {rate:g}" if optimizer == "adagrad" else optimizer, name,
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

Cao, Zhou, Li and Yu (2016). The paper's own sets are not at hand, so these are other public
ones. "linear" is a machine with one view, all columns pasted; "FM" the factorization machine;
"STM" the support tensor machine with logistic loss (the highest order only, rank one).
Unless said otherwise: AdaGrad; each model chooses among as many settings as all others (alpha
times learning rate; alpha for the STM), on rows that are not in the test part; then it is
fitted once more on all training rows, with the number of passes that was best and without
early stopping. "alpha, rate, passes" is what was chosen."""

RATED = """### MovieLens-100k

Ratings of 1 to 5 in random 90/10 splits, k = 16. Views: user (id, age, sex, occupation), item
(id, genres), week of the rating, and rated, the items that the user rates in the training part
(a row of length 1, as in SVD++). Mean ± standard deviation of five splits. The setting and the
passes are chosen by a tenth of the training part of the first split, out of alpha 0.03, 0.05,
0.07, 0.1, 0.15 times rate 0.05, 0.1, and kept for the other four, whose test rows therefore
had a small part in choosing; the first split, shown by itself, is free of it. "less FM's": the
mean difference to the FM of all pairs on user and item, and in how many splits the RMSE is
lower. Predictions are not clipped."""

RATED_SEEN = """H"""

CRITEO = """### Criteo, a sample

Was the advertisement clicked? Two views: 13 counts, one-hot by the whole part of log2(1 + x),
and 26 categories, one-hot, those with fewer than 10 training rows together. k = 8. Each of ten
settings (alpha 0.003, 0.01, 0.03, 0.1, 0.3 times rate 0.02, 0.1; ten alphas from 1e-5 to
0.3 for the STM) is fitted on the training part, stopped by a tenth of it, and scored on the dev
part; the best is fitted on both and scored on the 391 rows of the test part. Mean ± standard
deviation of five starts and orders of the rows; for the difference to the FM the standard error
over the test rows."""

CRITEO_SEEN = """No model is distinguishable from any other on 391 rows, the linear one included: the standard
errors are as large as the differences. All are clearly better than the rate of clicks. The MVM
is the best on the dev part, by which it was chosen, and the last on the test part. Models with
factors are at their best after a single pass or under the highest alpha: 7,200 rows of
anonymous hashes are too few to learn interactions from."""

BID = """### iPinYou, a sample

Was the advertisement clicked? Four views: user (IP, region, city, browser), page and slot, ad,
time; all one-hot. 255 clicks in 26,773 training rows, 50 in 21,150 test rows. As above, but
that the settings are scored by three stratified folds of the training part, and the passes are
the median of theirs."""

BID_SEEN = """H"""

TUMOURS = """### Breast cancer

Three views of ten columns (mean, error, worst), standardised on the training part; k = 8. Mean ±
standard deviation of 5 folds. Six settings (alpha 0.001, 0.01, 0.1 times rate 0.05, 0.2; alphas
from 1e-5 to 1 for the STM), chosen in each training part by a fifth of it."""

TUMOURS_SEEN = """All but the STM are within the spread over folds of each other, and the linear model is not
beaten. The STM has no terms of lower order, and loses ten points by it."""

DIGITS = """### Handwritten digits in six views (uci_mfeat)

Ten classes, 649 columns; in the same way as breast cancer, with MFEAT_SETTINGS."""

DIGITS_SEEN = """H"""

START = """### The start

y = the product of one column of each of five views (two columns each, standard normal) + noise
of 0.1; 3000 rows to learn, of which a tenth says when to stop (30 passes without a gain, 300 at
most), 1000 to test; k = 8, alpha = 1e-4; five draws. The highest R² that is possible is about
0.99. "signs" is the library's start of the bias rows, "printed" the paper's, all weights
N(0, s²); the number is `init_scale`."""

START_SEEN = """S"""
