"""The real data sets that tests and benchmarks read, where they are there."""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from crossview import MultiView


def folder(name):
    """The folder of one data set; skips the test with a reason where it is absent."""
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
