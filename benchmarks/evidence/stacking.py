"""A stack with default experts against each of its experts, Vowpal Wabbit and River."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.metrics import log_loss, roc_auc_score, root_mean_squared_error

from benchmarks import data
from benchmarks.harness import Table, benchmark, listed, loaded, run, size, span, vowpal_wabbit
from crossview import MultiView, OnlineStackingClassifier, OnlineStackingRegressor

BATCH, MOST_ROWS = 1000, size(None, 2000)
Stream = tuple[MultiView, np.ndarray]


def shuffled(X: MultiView, y: np.ndarray) -> Stream:
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def encoded(name: str) -> Stream:
    """The rows of a table in their order, encoded by the rows up to each."""
    rows = data.TABLES[name]()
    return rows.encoded("partial_fit_transform", hash_bits=18), rows.y


def a9a() -> Stream:
    """48,842 people in one view of 123 binary columns; True: a high income."""
    found = data.fetch("a9a")
    return found.data, found.target > 0


def news20() -> Stream:
    """16,242 articles as 100 binary words, in random order; which of four groups."""
    found = data.fetch("news20_w100")
    return shuffled(found.data, found.target)


def mfeat() -> Stream:
    """2,000 digits in six views of standardized columns, in random order; which digit."""
    views, y = data.mfeat()
    scaled = {v: (t - t.mean(axis=0)) / np.maximum(t.std(axis=0), 1e-9) for v, t in views.items()}
    return shuffled(MultiView(scaled), y)


def switching(rows: int = 20_000) -> Stream:
    """Two views of 10 columns; only the first tells the class, and after half only the second."""
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(rows, 10)) for _ in range(2)]
    logit = np.where(np.arange(rows) < rows // 2, *[view @ rng.normal(size=10) for view in views])
    y = rng.random(rows) < 1 / (1 + np.exp(-logit))
    return MultiView({"first": views[0], "second": views[1]}), y


STREAMS: dict[str, Callable[[], Stream]] = {
    "criteo_sample": lambda: encoded("criteo_sample"),
    "sms_spam": lambda: encoded("sms_spam"),
    "ipinyou_sample": data.ipinyou,
    "webkb_course": lambda: shuffled(*data.webkb_course()),
    "a9a": a9a,
    "movielens_100k": lambda: data.good_ratings()[:2],
    "switching": switching,
    "news20_w100": news20,
    "uci_mfeat": mfeat,
}
RATINGS = "ratings"


def one_pass(model: Any, X: MultiView, y: np.ndarray) -> tuple[np.ndarray, float]:
    """Return what is predicted of each row before it is learned, and the seconds of the pass."""
    options = {"classes": np.unique(y), "return_proba": True} if is_classifier(model) else {}
    start = time.perf_counter()
    found = [
        model.score_then_learn(X[at : at + BATCH], y[at : at + BATCH], **options)
        for at in range(0, len(y), BATCH)
    ]
    seconds = time.perf_counter() - start
    return np.concatenate([part[1] if options else part for part in found]), seconds


def measured(p: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return log loss and ROC AUC, of several classes the mean, each against the rest."""
    p = np.clip(p, 1e-15, 1.0)
    p /= p.sum(axis=1, keepdims=True)
    return log_loss(y, p), roc_auc_score(y, p[:, 1] if p.shape[1] == 2 else p, multi_class="ovr")


# --- peers ------------------------------------------------------------------------------


def features(X: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the columns and the values of each row."""
    X = sp.csr_array(X)
    for i in range(X.shape[0]):
        span = slice(X.indptr[i], X.indptr[i + 1])
        yield X.indices[span], X.data[span]


def by_vowpal_wabbit(X: MultiView, codes: np.ndarray) -> dict[str, np.ndarray]:
    """Return the probabilities of Vowpal Wabbit: linear, all pairs, pairs across views."""
    letters, C = "abcdefgh"[: X.layout.n_views], int(codes.max()) + 1
    across = [o for a, b in combinations(letters, 2) for o in ("-q", a + b)]
    several = ["--link", "logistic"] if C == 2 else ["--oaa", C, "--probabilities"]
    variants = {"linear": [], "`-q ::`": ["-q", "::"]} | (
        {"across views": across} if across else {}
    )
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        text, predictions = Path(folder) / "rows.vw", Path(folder) / "predictions"
        with text.open("w") as out:
            views = [features(X[name]) for name in X.layout.names]
            for code, *row in zip(codes.tolist(), *views, strict=True):
                parts = [
                    f"|{letter} " + " ".join(f"{j}:{x:.6g}" for j, x in zip(*own, strict=True))
                    for letter, own in zip(letters, row, strict=True)
                ]
                out.write(f"{2 * code - 1 if C == 2 else code + 1} {' '.join(parts)}\n")
        for name, options in variants.items():
            given = ("--loss_function", "logistic", "-b", 22, "-p", predictions)
            run(vowpal_wabbit(text, *given, *options, *several))
            lines = predictions.read_text().split("\n")[: len(codes)]
            p = [[float(word.rpartition(":")[2]) for word in line.split()] for line in lines]
            found[f"VW, {name}"] = np.array([[1.0 - q, q] for (q,) in p] if C == 2 else p)
    return found


def by_river(X: MultiView, codes: np.ndarray) -> np.ndarray:
    """Return the probabilities of River's logistic (softmax) regression."""
    from river.linear_model import LogisticRegression, SoftmaxRegression

    classes = range(int(codes.max()) + 1)
    model = LogisticRegression() if len(classes) == 2 else SoftmaxRegression()
    found = []
    for (columns, values), code in zip(features(X.matrix), codes.tolist(), strict=True):
        x = dict(zip(columns.tolist(), values.tolist(), strict=True))
        p = model.predict_proba_one(x)
        found.append([p.get(c, 1.0 / len(classes)) for c in classes])
        model.learn_one(x, code)
    return np.maximum(found, 1e-6)


# --- the tables ----------------------------------------------------------------------------

PEERS = ("VW, linear", "VW, `-q ::`", "VW, across views", "River")
LEAD, BEST, SHARE = "answer against best expert", "best expert", "time over its experts'"


def findings(tables: list[Table]) -> list[str]:
    """Say where the answer is ahead of experts and peers, and what it costs."""
    classes = tables[0]
    if classes.title == "RMSE":
        return []
    leads = classes.column(LEAD)
    kinds = {cell.rpartition(":")[0] for cell in classes.words(BEST).values()}
    ahead: dict[int, list[str]] = {0: [], 1: []}
    answers = [classes.column("answer", place) for place in (0, 1)]
    lower = []
    for place, sign in ((0, 1.0), (1, -1.0)):
        for peer in PEERS:
            for name, value in classes.column(peer, place).items():
                if sign * (value - answers[place][name]) < 0.0:
                    ahead[place].append(f"{peer} on {name}")
    for name, area in classes.column(BEST, -1).items():
        if answers[1][name] < area:
            lower.append(f"{name} ({answers[1][name] - area:+.4f})")
    return [
        "The answer has a lower log loss than the best single expert, chosen afterwards, on "
        f"{sum(lead < 0.0 for lead in leads.values())} of {len(leads)} streams "
        f"({span(leads.values(), '+.1f')} %). {len(kinds)} different experts are best on "
        f"{len(leads)} streams.",
        f"Its ROC AUC is lower than that of the best expert on {listed(lower)}.",
        f"Peers with a lower log loss: {listed(ahead[0])}; with a higher ROC AUC: "
        f"{listed(ahead[1])}. They are single learners with their defaults, not tuned.",
        f"A pass takes {span(classes.column(SHARE).values(), '.2f')} of the time of its experts' "
        "passes: rows are read and checked once, and stay in the cache for the next expert.",
    ]


def calibrated(expert: Any) -> Any:
    """The same learner, with probabilities where it has classes."""
    model = clone(expert)
    return model.set_params(calibration="sigmoid") if is_classifier(model) else model


def passes(stack: Any, X: MultiView, y: np.ndarray) -> tuple[np.ndarray, dict, float]:
    """What the stack and each of its experts predict, and the time of the first over the others."""
    one_pass(clone(stack), X, y)  # loads the code
    answer, seconds = one_pass(stack, X, y)
    alone, total = {}, 0.0
    for name, learner, view in stack.experts_:
        own, model = X if view is None else X.select([view]), calibrated(learner)
        one_pass(clone(model), own, y)
        alone[name], took = one_pass(model, own, y)
        total += took
    return answer, alone, seconds / total


@benchmark("docs/reproduction.md", [*STREAMS, RATINGS], findings)
def stacking(wanted: list[str]) -> list[Table]:
    """A row per stream: log loss and ROC AUC; then one on numbers."""
    about = ["stream", "rows", "experts", BEST, "answer", LEAD]
    classes = Table([*about, *PEERS, SHARE], title="Log loss, ROC AUC")
    numbers = Table([*about, SHARE], title="RMSE")
    for name, (X, y) in loaded(STREAMS, wanted):
        X, codes = X[:MOST_ROWS], np.unique(y[:MOST_ROWS], return_inverse=True)[1]
        answer, alone, share = passes(OnlineStackingClassifier(random_state=0), X, codes)
        values = {expert: measured(p, codes) for expert, p in alone.items()}
        best, own = min(values, key=values.get), measured(answer, codes)
        peers = by_vowpal_wabbit(X, codes) | {"River": by_river(X, codes)}
        shown = {peer: "{:.4f}, {:.4f}".format(*measured(p, codes)) for peer, p in peers.items()}
        classes.add(
            *(
                name,
                f"{len(codes):,}",
                len(alone),
                "{}: {:.4f}, {:.4f}".format(best, *values[best]),
            ),
            *("{:.4f}, {:.4f}".format(*own), f"{100 * (own[0] / values[best][0] - 1):+.1f} %"),
            *(*(shown.get(peer, "") for peer in PEERS), f"{share:.2f}"),
        )
    for _, (X, y, _) in loaded({RATINGS: data.ratings}, wanted):
        X, y = X[:MOST_ROWS], y[:MOST_ROWS]
        answer, alone, share = passes(OnlineStackingRegressor(random_state=0), X, y)
        errors = {expert: root_mean_squared_error(y, p) for expert, p in alone.items()}
        best, own = min(errors, key=errors.get), root_mean_squared_error(y, answer)
        lead = f"{100 * (own / errors[best] - 1):+.1f} %"
        cells = (f"{best}: {errors[best]:.4f}", f"{own:.4f}", lead, f"{share:.2f}")
        numbers.add("movielens_100k", f"{len(y):,}", len(alone), *cells)
    return [classes, numbers]
