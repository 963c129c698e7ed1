"""Streams of labeled rows in views, each in one order, for comparisons in one pass."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import HashingVectorizer

import shared_data
from crossview import MultiView

Stream = tuple[MultiView, np.ndarray]


def shuffled(X: MultiView, y: np.ndarray, seed: int = 0) -> Stream:
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order]


def criteo() -> Stream:
    """8,000 impressions in the order of time: binned counts, and categories; True: a click."""
    found = shared_data.fetch("criteo_sample")
    rows = found.data.to_pandas()
    counts = rows.filter(like="counts__").to_numpy(float)
    bins = np.where(counts < 0, -1.0, np.floor(np.log2(1.0 + np.maximum(counts, 0.0))))
    counted = [shared_data.one_hot(column) for column in np.nan_to_num(bins, nan=-2.0).T]
    texts = rows.filter(like="categories__").fillna("missing").to_numpy(str).T
    views = {"counts": counted, "categories": [shared_data.one_hot(column) for column in texts]}
    X = MultiView({name: sp.hstack(blocks, format="csr") for name, blocks in views.items()})
    return X, found.target == 1


def sms() -> Stream:
    """5,574 messages: hashed words, and shape (lengths, shares of kinds of letters); True: spam."""
    found = shared_data.fetch("sms_spam")
    texts = found.data["words__message"].to_pylist()
    words = HashingVectorizer(n_features=2**18, alternate_sign=False).transform(texts)
    shape = [
        [np.log1p(len(t)) / 5, sum(map(str.isdigit, t)) / max(len(t), 1) * 5,
         sum(map(str.isupper, t)) / max(len(t), 1) * 2, np.log1p(t.count("!")),
         np.log1p(len(t.split())) / 4]
        for t in texts
    ]  # fmt: skip
    X = MultiView({"words": words, "shape": sp.csr_array(np.array(shape))})
    return X, found.target == "spam"


def ipinyou() -> Stream:
    """47,923 bids of four views, in the order of the files; True: a click."""
    return shared_data.ipinyou()


def webkb() -> Stream:
    """1,051 web pages in random order: page and link, rows of unit length; True: a course."""
    X, y = shared_data.webkb_course()
    return shuffled(X, y)


def a9a() -> Stream:
    """48,842 people in one view of 123 binary columns; True: a high income."""
    found = shared_data.fetch("a9a")
    return found.data, found.target > 0


def movielens_ratings() -> Stream:
    """100,000 ratings in the order of time: user and item; one to five stars."""
    X, rating, _, _ = shared_data.movielens()
    seconds = shared_data.fetch("movielens_100k").data["time"].to_numpy()
    order = np.argsort(seconds, kind="stable")
    return X.select(["user", "item"])[order], rating[order]


def movielens() -> Stream:
    """The same; True: four or five stars."""
    X, rating = movielens_ratings()
    return X, rating >= 4


def news20() -> Stream:
    """16,242 articles as 100 binary words, in random order; which of four groups."""
    found = shared_data.fetch("news20_w100")
    return shuffled(found.data, found.target)


def mfeat() -> Stream:
    """2,000 digits in six views of standardized columns, in random order; which digit."""
    views, y = shared_data.mfeat()
    scaled = {v: (t - t.mean(axis=0)) / np.maximum(t.std(axis=0), 1e-9) for v, t in views.items()}
    return shuffled(MultiView(scaled), y)


def switching(rows: int = 20_000, seed: int = 0) -> Stream:
    """Two views of 10 columns; only the first tells the class, and after half only the second."""
    rng = np.random.default_rng(seed)
    views = [rng.normal(size=(rows, 10)) for _ in range(2)]
    own = [view @ rng.normal(size=10) for view in views]
    logit = np.where(np.arange(rows) < rows // 2, *own)
    return MultiView({"first": views[0], "second": views[1]}), rng.random(rows) < 1 / (
        1 + np.exp(-logit)
    )


STREAMS: dict[str, Callable[[], Stream]] = {
    "criteo_sample": criteo,
    "sms_spam": sms,
    "ipinyou_sample": ipinyou,
    "webkb_course": webkb,
    "a9a": a9a,
    "movielens_100k": movielens,
    "switching": switching,
    "news20_w100": news20,
    "uci_mfeat": mfeat,
}
