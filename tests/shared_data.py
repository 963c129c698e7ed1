"""The real data sets that tests and benchmarks read, if they are present."""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from crossview import InputError, MultiView, datasets


def _root():
    return Path(os.environ.get("CROSSVIEW_DATA") or Path(__file__).parents[2] / "shared" / "data")


def folder(name):
    """Return the folder of a data set; skip the test, with the reason, if it is absent."""
    path = _root() / name
    if not path.is_dir():
        pytest.skip(f"data set {name} is absent (set CROSSVIEW_DATA to the folder that holds it)")
    return path


def fetch(name):
    """Return `datasets.fetch` of the files there or in the cache; skip the test without them."""
    if name == "usps":
        pytest.importorskip("h5py", reason="usps is an HDF5 file, and h5py is not installed")
    try:
        return datasets.fetch(name, data_home=_root(), download_if_missing=False)
    except InputError as error:
        if "is not on this machine" not in str(error):
            raise
        pytest.skip(f"`crossview datasets {name} -o FILE` downloads data set {name}")


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
