"""Streams of labeled rows in views, each in one order, for comparisons in one pass."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import numpy as np
import pandas as pd
import scipy.io
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import HashingVectorizer

import shared_data
from crossview import MultiView

Stream = tuple[MultiView, np.ndarray]

BIDS = {
    "user": ["ip", "region", "city", "useragent"],
    "page": ["adexchange", "domain", "slotid", "slotwidth", "slotheight", "slotvisibility",
             "slotformat", "slotprice"],
    "ad": ["creative", "advertiser"],
    "time": ["weekday", "hour"],
}  # fmt: skip


def shuffled(X: MultiView, y: np.ndarray, seed: int = 0) -> Stream:
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order]


def criteo() -> Stream:
    """8,000 impressions in the order of time: binned counts, and categories; True: a click."""
    path, hashes = shared_data.folder("criteo_sample"), range(14, 40)
    rows = pd.concat(
        [
            pd.read_csv(
                path / f"criteo_{part}.tsv.gz",
                sep="\t",
                header=None,
                dtype=dict.fromkeys(hashes, str),
            )
            for part in ("train", "dev", "test")
        ],
        ignore_index=True,
    )
    counts = rows.iloc[:, 1:14].to_numpy(float)
    bins = np.where(counts < 0, -1.0, np.floor(np.log2(1.0 + np.maximum(counts, 0.0))))
    counted = [shared_data.one_hot(column) for column in np.nan_to_num(bins, nan=-2.0).T]
    texts = rows[hashes].fillna("missing").to_numpy(str).T
    views = {"counts": counted, "categories": [shared_data.one_hot(column) for column in texts]}
    X = MultiView({name: sp.hstack(blocks, format="csr") for name, blocks in views.items()})
    return X, rows[0].to_numpy() == 1


def sms() -> Stream:
    """5,574 messages: hashed words, and shape (lengths, shares of kinds of letters); True: spam."""
    path = shared_data.folder("sms_spam") / "SMSSpamCollection.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    labels, texts = zip(*(line.split("\t", 1) for line in lines), strict=True)
    words = HashingVectorizer(n_features=2**18, alternate_sign=False).transform(texts)
    shape = [
        [np.log1p(len(t)) / 5, sum(map(str.isdigit, t)) / max(len(t), 1) * 5,
         sum(map(str.isupper, t)) / max(len(t), 1) * 2, np.log1p(t.count("!")),
         np.log1p(len(t.split())) / 4]
        for t in texts
    ]  # fmt: skip
    X = MultiView({"words": words, "shape": sp.csr_array(np.array(shape))})
    return X, np.array(labels) == "spam"


def ipinyou() -> Stream:
    """47,923 bids of four views, in the order of the files; True: a click."""
    path = shared_data.folder("ipinyou_sample")

    def lines(name: str) -> list[str]:
        return gzip.decompress((path / name).read_bytes()).decode().splitlines()

    fields = [line.rsplit("\t", 1)[0].split(":")[0] for line in lines("featindex.fm.txt.gz")]
    view_of = {field: view for view, own in BIDS.items() for field in own}
    views = np.array([view_of[field.lower()] for field in fields])
    words = [line.split() for part in ("train", "test") for line in lines(f"{part}.fm.txt.gz")]
    indices = [[int(word.split(":")[0]) for word in line[1:]] for line in words]
    matrix = sp.csc_array(
        (np.ones(sum(map(len, indices))), np.concatenate(indices),
         np.cumsum([0, *map(len, indices)])), (len(views), len(words))
    ).T  # fmt: skip
    columns = sp.csc_array(matrix)
    X = MultiView({v: sp.csr_array(columns[:, np.flatnonzero(views == v)]) for v in BIDS})
    return X, np.array([line[0] == "1" for line in words])


def webkb() -> Stream:
    """1,051 web pages in random order: page and link, rows of unit length; True: a course."""
    X, y = shared_data.webkb_course()
    return shuffled(X, y)


def a9a() -> Stream:
    """48,842 people in one view of 123 binary columns; True: a high income."""
    path = shared_data.folder("a9a")
    parts = [
        load_svmlight_file(str(path / name), n_features=123) for name in ("a9a.gz", "a9a.t.gz")
    ]
    X = MultiView({"person": sp.vstack([X for X, _ in parts], format="csr")})
    return X, np.concatenate([y for _, y in parts]) > 0


def movielens_ratings() -> Stream:
    """100,000 ratings in the order of time: user and item; one to five stars."""
    X, rating, _, _ = shared_data.movielens()
    seconds = np.loadtxt(shared_data.folder("movielens_100k") / "u.data.gz", usecols=3)
    order = np.argsort(seconds, kind="stable")
    return X.select(["user", "item"])[order], rating[order]


def movielens() -> Stream:
    """The same; True: four or five stars."""
    X, rating = movielens_ratings()
    return X, rating >= 4


def news20() -> Stream:
    """16,242 articles as 100 binary words, in random order; which of four groups."""
    mat = scipy.io.loadmat(shared_data.folder("news20_w100") / "20news_w100.mat")
    X = MultiView({"words": sp.csr_array(mat["documents"].T, dtype=float)})
    return shuffled(X, mat["newsgroups"].ravel())


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
