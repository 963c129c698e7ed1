"""The data sets that benchmarks and tests read, if they are present; each is prepared once.

The first part has matrices, as the papers have them.  `TABLES` has what `compare` and the encoder
take: columns or views, labels, and options.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from crossview import InputError, MultiView, ViewEncoder, datasets


class AbsentError(Exception):
    """A data set that is not there; says what to do."""


def root():
    """Return the folder with the folders of the data sets."""
    return Path(os.environ.get("CROSSVIEW_DATA") or Path(__file__).parents[2] / "shared" / "data")


def folder(name):
    """Return the folder of a data set."""
    path = root() / name
    if not path.is_dir():
        raise AbsentError(f"data set {name} is absent (CROSSVIEW_DATA is the folder that holds it)")
    return path


def fetch(name):
    """Return `datasets.fetch` of the files there, or of those that it downloaded before."""
    if name == "usps" and importlib.util.find_spec("h5py") is None:
        raise AbsentError("usps is an HDF5 file, and h5py is not installed")
    try:
        return datasets.fetch(name, data_home=root(), download_if_missing=False)
    except InputError as error:
        if "is not on this machine" not in str(error):
            raise
        raise AbsentError(
            f"`crossview datasets {name} -o FILE` downloads data set {name}"
        ) from None


def matrix(table):
    """Return the columns of a table of numbers."""
    return np.column_stack([column.to_numpy() for column in table.columns])


def webkb_course():
    """Page and link view of 1051 web pages, binary features; True: a course page."""
    found = fetch("webkb_course")
    words = sp.csr_array(found.data.matrix != 0, dtype=float)
    return MultiView.from_matrix(words, found.data.layout), found.target == "course"


def internet_ads():
    """Two views of 1966 images on web pages, as in the two-view paper; True: an advertisement."""
    found = fetch("internet_ads")
    pairs = {"image_and_destination": ("url", "ancurl"), "alt_and_base": ("origurl", "alt")}
    views = {
        view: sp.hstack([found.data[one] for one in pair], format="csr")
        for view, pair in pairs.items()
    }
    return MultiView(views), found.target == "ad"


def bupa():
    """Six blood tests and habits of 345 men, standardized; True: selector 1."""
    found = fetch("bupa")
    X = matrix(found.data)
    return (X - X.mean(axis=0)) / X.std(axis=0), found.target == 1


def crx():
    """Six numbers, standardized, and nine categories, one-hot, of 690 people; True: +.

    A missing number is the mean, and a missing category no column.
    """
    found = fetch("crx")
    blocks = []
    for name, column in zip(found.data.column_names, found.data.columns, strict=True):
        values = column.to_numpy(zero_copy_only=False)
        if name.startswith("numbers"):
            blocks.append(np.nan_to_num((values - np.nanmean(values)) / np.nanstd(values))[:, None])
        else:
            blocks += [values[:, None] == one for one in sorted(set(values) - {None})]
    return np.hstack(blocks).astype(float), found.target == "+"


def usps():
    """7291 digits of 16 x 16 pixels between 0 and 1 (the training part), and which they are."""
    found = fetch("usps")
    rows = found.part == "train"
    return found.data["pixels"][rows], found.target[rows]


def mnist():
    """10,000 digits of 28 x 28 pixels between 0 and 1, and which they are."""
    found = fetch("mnist_t10k")
    return found.data["pixels"], found.target


def one_hot(codes):
    """Return one column per distinct value, in their order."""
    _, column = np.unique(codes, return_inverse=True)
    rows = np.arange(len(column))
    return sp.csr_array((np.ones(len(column)), (rows, column)), (len(column), column.max() + 1))


GENRES = [
    *("unknown", "action", "adventure", "animation", "children's", "comedy", "crime"),
    *("documentary", "drama", "fantasy", "film-noir", "horror", "musical", "mystery", "romance"),
    *("sci-fi", "thriller", "war", "western"),
]


def movielens():
    """100,000 ratings of 1 to 5: views user, item and week of the rating; and who rated what."""
    found = fetch("movielens_100k")
    columns = {name: found.data[name].to_numpy() for name in found.data.column_names}
    about = [columns["user__id"], columns["user__age"] // 10, columns["user__sex"]]
    genres = [[genre in one.split() for genre in GENRES] for one in columns["item__genres"]]
    week = (columns["time"] - columns["time"].min()) // (7 * 24 * 3600)
    views = {
        "user": sp.hstack([*map(one_hot, about), one_hot(columns["user__job"])], format="csr"),
        "item": sp.hstack(
            [one_hot(columns["item__id"]), sp.csr_array(np.array(genres, dtype=float))],
            format="csr",
        ),
        "week": one_hot(week),
    }
    return MultiView(views), found.target.astype(float), columns["user__id"], columns["item__id"]


# of the binary columns of ipinyou_sample, in their order
FIELDS = {
    "weekday": 5, "hour": 25, "useragent": 14, "ip": 131_235, "region": 35, "city": 367,
    "adexchange": 2, "domain": 800, "slotid": 961, "slotwidth": 2, "slotheight": 2,
    "slotvisibility": 4, "slotformat": 2, "creative": 4, "advertiser": 2, "slotprice": 5,
}  # fmt: skip


def ipinyou():
    """47,923 bids: one binary column per known value of 16 fields in four views; True: a click."""
    found = fetch("ipinyou_sample")
    starts = dict(zip(FIELDS, np.cumsum([0, *FIELDS.values()]).tolist(), strict=False))
    blocks = {name.partition("__")[0]: [] for name in found.data.column_names}
    view_of = {name.partition("__")[2]: name for name in found.data.column_names}
    for field, start in starts.items():
        column = found.data[view_of[field]].to_numpy().astype(int) - start
        rows = np.arange(len(column))
        block = sp.csr_array((np.ones(len(column)), (rows, column)), (len(rows), FIELDS[field]))
        blocks[view_of[field].partition("__")[0]].append(block)
    return MultiView({v: sp.hstack(own, format="csr") for v, own in blocks.items()}), (
        found.target == 1
    )


def ionosphere():
    """34 numbers of 351 radar returns, columns between -1 and 1; True: a good one."""
    found = fetch("ionosphere")
    X = matrix(found.data).reshape(-1, 2, 17).transpose(0, 2, 1).reshape(-1, 34)  # pulse by pulse
    return between_minus_one_and_one(X), found.target == "good"


def svmguide1():
    """Four numbers of 3089 particles (the training part), as they are; True: the class 1."""
    found = fetch("svmguide1")
    return matrix(found.data), found.target == 1


def svmguide3():
    """About 20 numbers of 1243 vehicles, as they are; True: the class 1."""
    found = fetch("svmguide3")
    return matrix(found.data), found.target == 1


def mfeat():
    """2000 digits in six views of numbers, by name, and which digits they are."""
    found = fetch("uci_mfeat")
    names = dict.fromkeys(name.partition("__")[0] for name in found.data.column_names)
    views = {
        view: matrix(found.data.select([n for n in found.data.column_names if n.startswith(view)]))
        for view in names
    }
    return views, found.target


def between_minus_one_and_one(X):
    """Scale each column to [-1, 1]; a constant one stays as it is."""
    low, high = X.min(axis=0), X.max(axis=0)
    varies = high > low
    return np.where(varies, 2.0 * (X - low) / np.where(varies, high - low, 1.0) - 1.0, X)


# --- tables --------------------------------------------------------------------------------


class Rows(NamedTuple):
    """Columns or views, labels, and the parameters of a `ViewEncoder` for them."""

    X: Any
    y: np.ndarray
    options: dict[str, Any] = {}  # noqa: RUF012

    def take(self, rows):
        """Return some of the rows, by their numbers."""
        X = self.X[rows] if isinstance(self.X, MultiView) else self.X.iloc[rows]
        return Rows(X, self.y[rows], self.options)

    def some(self, n, seed=0):
        """Return at most n rows, drawn at random, in random order."""
        return self.take(np.random.default_rng(seed).permutation(len(self.y))[:n])

    def views(self):
        """Return the names of the views."""
        if isinstance(self.X, MultiView):
            return list(self.X.layout.names)
        return list(dict.fromkeys(name.split("__")[0] for name in self.X.columns))

    def draw(self, seed, learn, score, share):
        """Return rows that are learned, at most this share, and others, encoded by the former."""
        order = np.random.default_rng(seed).permutation(len(self.y))
        n = min(learn, int(share * len(order)))
        seen, new = self.take(order[:n]), self.take(order[n : n + score])
        if isinstance(self.X, MultiView):
            return seen, new
        encoder = ViewEncoder(**self.options)
        return (Rows(encoder.fit_transform(seen.X), seen.y), Rows(encoder.transform(new.X), new.y))

    def encoded(self, how="fit_transform", **options):
        """Return the rows as views: encoded, unless they are views."""
        if isinstance(self.X, MultiView):
            return self.X
        return getattr(ViewEncoder(**self.options, **options), how)(self.X)


def frame(views, y):
    """Return views of numbers as columns."""
    columns = {f"{v}__{j}": b[:, j] for v, b in views.items() for j in range(b.shape[1])}
    return Rows(pd.DataFrame(columns), y)


def halves(X, y):
    """Return the first and the second half of the columns as two views."""
    middle = (X.shape[1] + 1) // 2
    views = {"first": X[:, :middle], "second": X[:, middle:]}
    if not sp.issparse(X):
        return frame(views, y)
    return Rows(MultiView({name: sp.csr_array(block) for name, block in views.items()}), y)


def dense(name):
    """Return a set of views of numbers as columns."""
    found = fetch(name)
    return frame({view: found.data[view] for view in found.data.layout.names}, found.target)


def words(name):
    """Return a set of sparse views, rows of unit length."""
    found = fetch(name)
    # in MATLAB's order, on which the last bit of a norm depends
    whole = {view: found.data[view].toarray(order="F") for view in found.data.layout.names}
    return Rows(MultiView({view: sp.csr_array(unit(b)) for view, b in whole.items()}), found.target)


def unit(X):
    """Return rows of length 1, but those without an entry."""
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)


def bundled(name, label):
    """Return a table that the package contains."""
    table = datasets.load(name).to_pandas()
    return Rows(table.drop(columns=label), table[label].to_numpy())


def criteo():
    """7200 clicks: 13 counts, and 26 categories."""
    found = fetch("criteo_sample")
    rows = found.data.to_pandas()[found.part == "train"]
    rows.columns = [name.replace("counts", "count") for name in rows.columns]
    rows.columns = [name.replace("categories", "category") for name in rows.columns]
    counts = rows.columns[:13]
    rows[counts] = np.sign(rows[counts]) * np.log1p(rows[counts].abs())
    return Rows(rows, found.target[found.part == "train"] == 1)


def sms():
    """5574 messages: their words, and their shape."""
    found = fetch("sms_spam")
    message = pd.Series(found.data["words__message"].to_pylist())
    shape = {"length": np.log1p(message.str.len())}
    for name, kind in {"digits": r"\d", "capitals": "[A-Z]", "marks": "[!£?*]"}.items():
        shape[name] = np.log1p(message.str.count(kind))
    rows = pd.DataFrame({"words__message": message} | {f"shape__{k}": v for k, v in shape.items()})
    return Rows(rows, found.target == "spam", {"text": ["words__message"]})


def bids():
    """26,773 bids, of which 255 were clicked: 16 categories."""
    found = fetch("ipinyou_sample")
    name_of = {name.partition("__")[2]: name for name in found.data.column_names}
    rows = found.data.select([name_of[field] for field in FIELDS]).to_pandas()
    train = found.part == "train"
    return Rows(rows[train], found.target[train] == 1)


def spambase():
    """4601 messages: 48 frequencies of words, 6 of marks, and 3 lengths of runs of capitals."""
    found = fetch("spambase")
    rows, names = found.data.to_pandas(), {"characters": "marks", "runs": "capitals"}
    parts = [name.partition("__") for name in rows.columns]
    rows.columns = [f"{names.get(view, view)}__{i}" for view, _, i in parts]
    return Rows(rows, found.target == 1)


def census():
    """32,561 people: two halves of 123 binary columns."""
    found = fetch("a9a")
    train = found.part == "train"
    return halves(sp.csc_array(found.data["person"][train]), found.target[train].astype(float))


def ratings():
    """100,000 ratings in the order of time: user and item; one to five stars."""
    X, rating, _, _ = movielens()
    order = np.argsort(fetch("movielens_100k").data["time"].to_numpy(), kind="stable")
    return Rows(X.select(["user", "item"])[order], rating[order])


def good_ratings():
    """The same; True: four or five stars."""
    X, rating, _ = ratings()
    return Rows(X, rating >= 4)


TABLES: dict[str, Callable[[], Rows]] = {
    "webkb_course": lambda: Rows(*webkb_course()),
    "internet_ads": lambda: Rows(*internet_ads()),
    "uci_mfeat": lambda: frame(*mfeat()),
    "breast-cancer": lambda: bundled("breast-cancer", "diagnosis"),
    "digits": lambda: bundled("digits", "digit"),
    **{name: lambda n=name: words(n) for name in ("bbcsport", "reuters_1200", "movies", "cora")},
    **{name: lambda n=name: dense(n) for name in ("msrc_v5", "wikipedia", "100leaves")},
    "spambase": spambase,
    "sms_spam": sms,
    "criteo_sample": criteo,
    "ipinyou_sample": bids,
    "a9a": census,
    "movielens_100k": good_ratings,
    "news20_w100": lambda: halves(
        sp.csc_array(fetch("news20_w100").data["words"]), fetch("news20_w100").target
    ),
    "svmguide1": lambda: halves(*svmguide1()),
    "ionosphere": lambda: halves(*ionosphere()),
    "bupa": lambda: halves(*bupa()),
}


def tables(*names):
    """Return some of the tables, by name."""
    return {name: TABLES[name] for name in names}
