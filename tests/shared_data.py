"""The real data sets that tests and benchmarks read, if they are present."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from crossview import MultiView


def folder(name):
    """Return the folder of a data set; skip the test, with the reason, if it is absent."""
    root = os.environ.get("CROSSVIEW_DATA") or Path(__file__).parents[2] / "shared" / "data"
    path = Path(root) / name
    if not path.is_dir():
        pytest.skip(f"data set {name} is absent (set CROSSVIEW_DATA to the folder that holds it)")
    return path


def webkb_course():
    """Page and link view of 1051 web pages, binary features; True: a course page."""
    mat = scipy.io.loadmat(folder("webkb_course") / "WebKB.mat")
    link, page = (sp.csr_array(np.asarray(x) != 0, dtype=float) for x in mat["X"].ravel())
    return MultiView({"page": page, "link": link}), mat["y"].ravel() == 1


def internet_ads():
    """Two views of 1966 images on web pages, as in the two-view paper; True: an advertisement."""
    npz = np.load(folder("internet_ads") / "17_InternetAds.npz")
    X = sp.csr_array(npz["X"])
    url, origurl, ancurl, alt = (
        X[:, a:b] for a, b in [(1, 458), (458, 953), (953, 1425), (1425, 1536)]
    )
    views = {
        "image_and_destination": sp.hstack([url, ancurl], format="csr"),
        "alt_and_base": sp.hstack([origurl, alt], format="csr"),
    }
    return MultiView(views), npz["y"] == 1


def bupa():
    """Six blood tests and habits of 345 men, standardized; True: selector 1."""
    table = np.loadtxt(folder("bupa") / "bupa.data", delimiter=",", skiprows=1)
    X = table[:, :-1]
    return (X - X.mean(axis=0)) / X.std(axis=0), table[:, -1] == 1


def usps():
    """7291 digits of 16 x 16 pixels between 0 and 1 (the training part), and which they are."""
    path = folder("usps") / "usps.h5"
    h5py = pytest.importorskip("h5py", reason="usps is an HDF5 file, and h5py is not installed")
    with h5py.File(path) as file:
        return file["train/data"][:].astype(float), file["train/target"][:]


def mnist():
    """10,000 digits of 28 x 28 pixels between 0 and 1, and which they are."""
    path = folder("mnist_t10k")
    pixels, digit = (
        np.frombuffer(gzip.decompress((path / name).read_bytes()), np.uint8, offset=offset)
        for name, offset in [("t10k-images-idx3-ubyte.gz", 16), ("t10k-labels-idx1-ubyte.gz", 8)]
    )
    return pixels.reshape(len(digit), -1) / 255, digit


def one_hot(codes):
    """Return one column per distinct value, in their order."""
    _, column = np.unique(codes, return_inverse=True)
    rows = np.arange(len(column))
    return sp.csr_array((np.ones(len(column)), (rows, column)), (len(column), column.max() + 1))


def movielens():
    """100,000 ratings of 1 to 5: views user, item and week of the rating; and who rated what."""
    path = folder("movielens_100k")
    data = np.loadtxt(path / "u.data.gz", dtype=np.int64)
    user, item, rating, seconds = data.T
    people = [line.split("|") for line in (path / "u.user").read_text().splitlines()]
    about = sp.hstack(
        [
            one_hot(np.arange(len(people))),
            one_hot([int(person[1]) // 10 for person in people]),
            one_hot([person[2] for person in people]),
            one_hot([person[3] for person in people]),
        ],
        format="csr",
    )
    films = [line.split("|") for line in (path / "u.item").read_text("latin-1").splitlines()]
    genres = sp.csr_array(np.array([film[-19:] for film in films], dtype=float))
    kinds = sp.hstack([one_hot(np.arange(len(films))), genres], format="csr")
    week = one_hot((seconds - seconds.min()) // (7 * 24 * 3600))
    views = {"user": about[user - 1], "item": kinds[item - 1], "week": week}
    return MultiView(views), rating.astype(float), user, item


def ionosphere():
    """34 numbers of 351 radar returns, columns between -1 and 1; True: a good one."""
    lines = (folder("ionosphere") / "ionosphere.data").read_text().split()
    cells = [line.split(",") for line in lines]
    X = np.array([row[:-1] for row in cells], dtype=float)
    return between_minus_one_and_one(X), np.array([row[-1] == "g" for row in cells])


def svmguide1():
    """Four numbers of 3089 particles (the training part), as they are; True: the class 1."""
    X, y = load_svmlight_file(str(folder("svmguide1") / "svmguide1"), n_features=4)
    return X.toarray(), y == 1


def mfeat():
    """2000 digits in six views of numbers, by name, and which digits they are."""
    path = folder("uci_mfeat")
    names = ("fac", "fou", "kar", "mor", "pix", "zer")
    tables = [np.loadtxt(path / f"mfeat-{v}.csv.gz", delimiter=",", skiprows=1) for v in names]
    views = {name: table[:, :-1] for name, table in zip(names, tables, strict=True)}
    return views, tables[0][:, -1].astype(int)


def between_minus_one_and_one(X):
    """Scale each column to [-1, 1]; a constant one stays as it is."""
    low, high = X.min(axis=0), X.max(axis=0)
    varies = high > low
    return np.where(varies, 2.0 * (X - low) / np.where(varies, high - low, 1.0) - 1.0, X)
