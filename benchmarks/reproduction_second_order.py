"""The section of docs/reproduction.md on learners with a covariance.

python benchmarks/reproduction.py --only second-order
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from sklearn.base import ClassifierMixin, clone
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

import shared_data
from crossview import (
    AROWClassifier,
    ConfidenceWeightedClassifier,
    MultiView,
    MultiViewPAClassifier,
    PAMClassifier,
    PassiveAggressiveClassifier,
    SecondOrderPerceptron,
    SoftConfidenceWeightedClassifier,
    ViewEncoder,
)
from harness import table

REPEATS = range(10)
SEEDS = range(3)

# --- cumulative error ---------------------------------------------------------

PRICES = {f"2^{k}": 2.0**k for k in range(-10, 7, 2)}
CONFIDENCES = {f"{c:g}": c for c in (0.55, 0.65, 0.75, 0.85, 0.95, 0.99)}
BOTH = {
    f"{c}, {C}": {"confidence": CONFIDENCES[c], "C": PRICES[C]}
    for c in ("0.55", "0.75", "0.95")
    for C in PRICES
}


def grid(model: ClassifierMixin, name: str, values: dict[str, float]) -> dict:
    return {label: clone(model).set_params(**{name: value}) for label, value in values.items()}


LEARNERS: dict[str, dict[str, ClassifierMixin]] = {
    "PA-I": grid(PassiveAggressiveClassifier(variant="PA-I"), "C", PRICES),
    "PA-II": grid(PassiveAggressiveClassifier(variant="PA-II"), "C", PRICES),
    "PAM-I": grid(PAMClassifier(variant="PAM-I"), "C", PRICES),
    "PAM-II": grid(PAMClassifier(variant="PAM-II"), "C", PRICES),
    "AROW": grid(AROWClassifier(), "r", PRICES),
    "CW, variance": grid(
        ConfidenceWeightedClassifier(form="variance"), "confidence", CONFIDENCES
    ),
    "CW, stdev": grid(ConfidenceWeightedClassifier(form="stdev"), "confidence", CONFIDENCES),
    "SCW-I": {
        label: SoftConfidenceWeightedClassifier(variant="SCW-I", **both)
        for label, both in BOTH.items()
    },
    "SCW-II": {
        label: SoftConfidenceWeightedClassifier(variant="SCW-II", **both)
        for label, both in BOTH.items()
    },
    "SOP": {"": SecondOrderPerceptron()},
}  # fmt: skip

# the grids with the initial variance as well
VARIANCES = {f"2^{k}": 2.0**k for k in (0, -2, -4, -6)}


def with_variance(models: dict[str, ClassifierMixin], labels: Iterable[str]) -> dict:
    return {
        f"{label}, {v}": clone(models[label]).set_params(initial_variance=VARIANCES[v])
        for label in labels
        for v in VARIANCES
    }


WIDER = {
    "PAM-II": with_variance(LEARNERS["PAM-II"], [f"2^{k}" for k in range(-6, 7, 2)]),
    "CW, variance": with_variance(LEARNERS["CW, variance"], ["0.55", "0.75", "0.95"]),
    "CW, stdev": with_variance(LEARNERS["CW, stdev"], ["0.55", "0.75", "0.95"]),
}

Stream = tuple[np.ndarray | MultiView, np.ndarray]


def orders(X: np.ndarray | MultiView, y: np.ndarray) -> Iterable[Stream]:
    """Yield all rows, in ten random orders."""
    for repeat in REPEATS:
        order = np.random.default_rng(repeat).permutation(len(y))
        yield X[order], y[order]


def one_digit(X: np.ndarray, digit: np.ndarray) -> Iterable[Stream]:
    """Yield a random digit and as many rows of the others, in random order; ten times."""
    for repeat in REPEATS:
        random = np.random.default_rng(repeat)
        positive = digit == random.integers(10)
        own, others = np.flatnonzero(positive), np.flatnonzero(~positive)
        taken = random.permutation(np.r_[own, random.choice(others, len(own), replace=False)])
        yield X[taken], positive[taken]


def page_view() -> Stream:
    X, y = shared_data.webkb_course()
    return X.select(["page"]), y


STREAMS: dict[str, Callable[[], Iterable[Stream]]] = {
    "bupa": lambda: orders(*shared_data.bupa()),
    "usps": lambda: one_digit(*shared_data.usps()),
    "mnist_t10k": lambda: one_digit(*shared_data.mnist()),
    "webkb_course": lambda: orders(*page_view()),
}


def mistakes(model: ClassifierMixin, X: np.ndarray | MultiView, y: np.ndarray) -> float:
    """Return the cumulative error rate: each row is scored, then learned."""
    scores = clone(model).score_then_learn(X, y, classes=[False, True])
    return float(np.mean((scores > 0) != y))


def errors(streams: list[Stream], learners: dict[str, dict]) -> dict[str, np.ndarray]:
    """Return the cumulative error rates of each learner, by grid value and repetition."""
    found = {}
    for learner, models in learners.items():
        start = time.perf_counter()
        found[learner] = np.array(
            [[mistakes(model, X, y) for X, y in streams] for model in models.values()]
        )
        seconds = time.perf_counter() - start
        print(f"{learner} {found[learner].mean(axis=1).min():.4f} {seconds:.0f} s", file=sys.stderr)
    return found


def rise(values: np.ndarray) -> float:
    """Return the rise of the error if each repetition's value is chosen on the others."""
    total, n = values.sum(axis=1, keepdims=True), values.shape[1]
    chosen = np.argmin(total - values, axis=0)
    return float(values[chosen, np.arange(n)].mean() - values.mean(axis=1).min())


def best(errors: np.ndarray) -> np.ndarray:
    """Return the errors of the grid value with the lowest mean."""
    return errors[np.argmin(errors.mean(axis=1))]


def figure(errors: np.ndarray) -> str:
    return f"{best(errors).mean():.3f} ± {best(errors).std():.3f}"


def less(a: np.ndarray, b: np.ndarray) -> str:
    gaps = best(a) - best(b)
    return f"{gaps.mean():+.3f} ({np.sum(gaps < 0)} of {gaps.size})"


def cumulative(names: list[str]) -> list[str]:
    found, wider, absent = {}, {}, []
    for name in STREAMS:
        if name not in names:
            continue
        print(name, file=sys.stderr)
        try:
            streams = list(STREAMS[name]())
        except pytest.skip.Exception as reason:
            absent.append(f"{name} left out: {reason}")
        else:
            found[name] = errors(streams, LEARNERS)
            wider[name] = errors(streams, WIDER)
    return [*absent, *as_compared(found), *with_initial_variance(found, wider)] if found else absent


def as_compared(found: dict[str, dict[str, np.ndarray]]) -> list[str]:
    rows = [[learner, *(figure(of[learner]) for of in found.values())] for learner in LEARNERS]
    chosen = [
        [learner, *(list(models)[np.argmin(of[learner].mean(axis=1))] for of in found.values())]
        for learner, models in LEARNERS.items()
        if len(models) > 1
    ]
    pairs = [
        [rival, *(less(of["PAM-II"], of[rival]) for of in found.values())]
        for rival in ("PA-I", "PA-II", "AROW", "CW, variance", "CW, stdev", "SCW-I")
    ]
    rises = {(learner, name): rise(v) for name, of in found.items() for learner, v in of.items()}
    learner, name = max(rises, key=rises.get)
    return [
        table(["learner", *found], rows),
        "The values chosen (C; for AROW r; for CW the confidence; for SCW confidence and C):",
        table(["learner", *found], chosen),
        "Choosing the value for each repetition on the other nine raises a figure by "
        f"{np.mean(list(rises.values())):.4f} on average,\nand by at most "
        f"{rises[learner, name]:.4f} ({learner} on {name}).",
        "PAM-II minus each other learner; in parentheses, how often PAM-II is lower:",
        table(["PAM-II minus", *found], pairs),
    ]


def with_initial_variance(found: dict, wider: dict) -> list[str]:
    rows = [
        [
            learner,
            *(
                f"{figure(of[learner])} ({list(models)[np.argmin(of[learner].mean(axis=1))]})"
                for of in wider.values()
            ),
        ]
        for learner, models in WIDER.items()
    ]
    rows.append(
        ["PAM-II minus PA-II", *(less(wider[n]["PAM-II"], found[n]["PA-II"]) for n in found)]
    )
    for rival in ("CW, variance", "CW, stdev"):
        rows.append(
            [f"PAM-II minus {rival}", *(less(of["PAM-II"], of[rival]) for of in wider.values())]
        )
    return [SEEN, WIDER_HEAD, table(["learner", *found], rows), WIDER_SEEN]


# --- coupled views in Mahalanobis geometry ---------------------

COUPLINGS = ("concatenated", "independent", "squared", "absolute")
COUPLED = {
    "internet_ads": [0.1],
    "webkb_course": [0.1],
    "uci_mfeat": [0.1, 0.001],
}


def folds(X: object, y: np.ndarray) -> list[tuple]:
    """Return training part, test part and seed of 5 folds in three orders."""
    parts = []
    for seed in SEEDS:
        split = StratifiedKFold(5, shuffle=True, random_state=seed).split(np.zeros(len(y)), y)
        for train, test in split:
            if isinstance(X, MultiView):
                seen, unseen = X[train], X[test]
            else:
                encoder = ViewEncoder()
                seen, unseen = encoder.fit_transform(X.iloc[train]), encoder.transform(X.iloc[test])
            parts.append((seen, y[train], unseen, y[test], seed))
    return parts


def f1(model: ClassifierMixin, parts: list[tuple]) -> str:
    values = []
    for seen, y, unseen, truth, seed in parts:
        fitted = clone(model).set_params(random_state=seed).fit(seen, y)
        average = "binary" if len(fitted.classes_) == 2 else "macro"
        values.append(f1_score(truth, fitted.predict(unseen), average=average))
    return f"{100 * np.mean(values):.1f} ± {100 * np.std(values):.1f}"


def coupled(names: list[str], sets: dict[str, Callable[[], tuple]]) -> list[str]:
    header, absent = ["coupling", "geometry"], []
    rows = [[c, geometry] for c in COUPLINGS for geometry in ("euclidean", "mahalanobis")]
    for name, prices in COUPLED.items():
        if name not in names:
            continue
        try:
            parts = folds(*sets[name]())
        except pytest.skip.Exception as reason:
            absent.append(f"{name} left out: {reason}")
            continue
        done: dict[tuple, str] = {}
        for price in prices:
            header.append(name if price == 0.1 else f"{name}, disagreement = {price:g}")
            for row in rows:
                coupling, geometry = row[:2]
                # the first two couplings have no penalty
                key = (coupling, geometry, price if coupling in ("squared", "absolute") else None)
                if key not in done:
                    done[key] = f1(
                        MultiViewPAClassifier(
                            coupling=coupling,
                            geometry=geometry,
                            variant="PA-II",
                            disagreement=price,
                        ),
                        parts,
                    )
                    print(header[-1], coupling, geometry, done[key], file=sys.stderr)
                row.append(done[key])
    return [*absent, table(header, rows)] if len(header) > 2 else absent


def section(names: list[str], sets: dict[str, Callable[[], tuple]]) -> str:
    """Return the section, for the data sets that are named."""
    first, second = cumulative(names), coupled(names, sets)
    return "\n\n".join([HEAD, *first, COUPLED_HEAD, *second, COUPLED_SEEN])


HEAD = """## Learners with a covariance

Does PAM make fewer mistakes than PA and CW, as in "Distribution-Aware Online Classifiers"
(Nguyen, Chang and Hui 2011)? And how do AROW, SCW and the second-order perceptron (SOP) compare?

Command: `python benchmarks/reproduction.py --only second-order`

The figures are cumulative error rates in one pass: each row is scored, then learned. A score of
0 or less predicts the negative class. Mean ± standard deviation of ten repetitions, with an
intercept and `covariance="auto"`.

- bupa: standardized, ten random orders.
- usps (the training part) and mnist_t10k (the 10,000 test images only): each repetition draws
  one digit, and as many rows of the other digits. Pixels lie between 0 and 1. Most of the spread
  is between digits, so the table of paired differences below is more informative.
- webkb_course: the page view, binary, ten random orders.

The grids: C and r from 2^-10, 2^-8, ..., 2^6; the confidence of CW from 0.55, 0.65, ..., 0.95
and 0.99; SCW from all pairs of 0.55, 0.75, 0.95 and the nine values of C. As in the paper, the
value with the lowest mean is chosen on the same runs that the table shows. So the figures are
optimistic for every learner with a grid, most of all for SCW with its 27 values."""

SEEN = """Findings:

- bupa: PAM-II and AROW are clearly better than PA-I and PA-II, and PAM-II is better than CW, as
  in the paper. AROW is better still. SCW-II varies much from order to order where the confidence
  is high.
- usps and mnist_t10k: PAM-II is better than PA-II on average, but on mnist_t10k in only 6
  repetitions of 10. It is worse than both forms of CW, AROW and SCW. In the paper, PAM-II is
  better than CW.
- webkb_course: PAM-II is worse than PA-II and worse than CW. In the paper it is better than
  both. The data sets differ: the paper's F1 for course pages is 77 to 79, and here plain PA
  reaches 94 on the page view."""

WIDER_HEAD = """Part of the difference is a matter of scale. PAM has no noise parameter: its
inverse covariance grows by x x', whatever the unit of x, and rows of the digits or of WebKB have
a squared norm of 50 to 90. AROW's r is equivalent to the initial variance, and there r = 2^4 is
chosen. The next table therefore also tunes `initial_variance` (2^0, 2^-2, 2^-4 or 2^-6), with
fewer values of the first parameter (C from 2^-6 to 2^6, the confidence from 0.55, 0.75, 0.95).
In parentheses: the values chosen."""

WIDER_SEEN = """PAM-II improves much on the digits and is better than PA-II there in every
repetition. It is on a par with CW or slightly better there (4 to 8 repetitions of 10). On
webkb_course it is on a par with PA-II and worse than CW. On mnist_t10k and webkb_course the
lowest variance of the grid is chosen, so a wider grid may improve PAM-II a little more. CW
hardly improves."""

COUPLED_HEAD = """### Coupled views in Mahalanobis geometry

Does it help to combine both papers, so that coupled views each have a covariance?

Command: `python benchmarks/reproduction.py --only second-order uci_mfeat` (or another set)

F1 in percent in one pass, 5 folds, three seeds; with more than two classes, macro F1. PA-II,
C = 1, disagreement = 0.1, one intercept per view, no tuning. "concatenated, mahalanobis" is
PAM-II on all columns. The advertisements and WebKB are binary; uci_mfeat is standardized on the
training part. Only squared and absolute coupling use the disagreement parameter."""

COUPLED_SEEN = """Findings:

- internet_ads: Mahalanobis geometry adds 3 to 5 points to every coupling. Squared and absolute
  coupling in Mahalanobis geometry are best, above the paper's highest F1 of 85.7 (measured on
  other rows, see [above](#two-view-pa)). They lead PAM-II on the concatenation by a tenth of the
  standard deviation over the folds: the geometry brings the gain, and the coupling costs
  nothing.
- webkb_course: Mahalanobis geometry takes 1 to 2 points from every coupling. Independent views
  in Euclidean geometry remain best.
- uci_mfeat: all are close. With disagreement = 0.1 Mahalanobis geometry helps the coupled
  learners, with disagreement = 0.001 it harms them. The penalty acts through the product of
  disagreement and x'S x, which shrinks as rows are learned, so a value that is right in
  Euclidean geometry is too low here. No coupling beats independent views and concatenation by
  more than the standard deviation."""
