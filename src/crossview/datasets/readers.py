"""One reader per public data set: its files -> rows in views, their labels, and parts."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.io
import scipy.sparse as sp

from crossview.datasets.fetching import PUBLIC, Rows
from crossview.errors import InputError
from crossview.views import MultiView

if TYPE_CHECKING:
    from crossview.datasets.fetching import Files


def _parts(sizes: Mapping[str, int]) -> np.ndarray:
    return np.repeat(list(sizes), list(sizes.values()))


def _columns(view: str, values: np.ndarray) -> dict[str, np.ndarray]:
    return {f"{view}__{i}": np.ascontiguousarray(one) for i, one in enumerate(values.T)}


def _table(content: bytes, separator: str = ",", skip: int = 0) -> np.ndarray:
    return np.loadtxt(io.BytesIO(content), delimiter=separator, skiprows=skip)


def _svmlight(content: bytes, n_columns: int | None = None) -> tuple[sp.csr_array, np.ndarray]:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(io.BytesIO(content), n_features=n_columns)
    return sp.csr_array(X), y


def _joined(view: str, texts: Mapping[str, bytes], n_columns: int) -> Rows:
    """Join the parts of a data set in the format of svmlight."""
    parts = {part: _svmlight(text, n_columns) for part, text in texts.items()}
    X = MultiView({view: sp.csr_array(sp.vstack([X for X, _ in parts.values()], format="csr"))})
    y = np.concatenate([y for _, y in parts.values()]).astype(int)
    return Rows(X, y, _parts({part: len(y) for part, (_, y) in parts.items()}))


def _mat(files: Files, form: Callable[..., Any] = sp.csr_array) -> Rows:
    """Read a MATLAB file: a cell X with one matrix per view, a vector y."""
    mat = scipy.io.loadmat(io.BytesIO(files[files.source.files[0].name]))
    blocks = [form(x, dtype=float) for x in mat["X"].ravel()]
    X = MultiView(dict(zip(files.source.views, blocks, strict=True)))
    return Rows(X, np.asarray(mat["y"]).ravel().astype(int))


def _webkb_course(files: Files) -> Rows:
    mat = scipy.io.loadmat(io.BytesIO(files["WebKB.mat"]))
    link, page = (sp.csr_array(x) for x in mat["X"].ravel())
    y = np.where(mat["y"].ravel() == 1, "course", "other")
    return Rows(MultiView({"page": page, "link": link}), y)


def _internet_ads(files: Files) -> Rows:
    with np.load(io.BytesIO(files["17_InternetAds.npz"])) as arrays:
        X, y = sp.csr_array(arrays["X"]), arrays["y"]
    widths = {"local": 1, "url": 457, "origurl": 495, "ancurl": 472, "alt": 111, "caption": 19}
    ends = np.cumsum(list(widths.values()))
    blocks = {
        view: X[:, end - width : end]
        for (view, width), end in zip(widths.items(), ends.tolist(), strict=True)
    }
    return Rows(MultiView(blocks), np.where(y == 1, "ad", "other"))


def _bupa(files: Files) -> Rows:
    values = _table(files["bupa.data"], skip=1)
    names = ("mcv", "alkphos", "sgpt", "sgot", "gammagt", "drinks")
    views = ["blood"] * 5 + ["habits"]
    columns = {f"{v}__{n}": x for v, n, x in zip(views, names, values.T[:-1].copy(), strict=True)}
    return Rows(columns, values[:, -1].astype(int))


_CARDS = {"numbers": (2, 3, 8, 11, 14, 15), "categories": (1, 4, 5, 6, 7, 9, 10, 12, 13)}


def _crx(files: Files) -> Rows:
    """The columns A1 to A15, as UCI calls them; a question mark is a missing value."""
    cells = [line.split(",") for line in files["crx.data"].decode().split()]
    columns: dict[str, list[float | None] | list[str | None]] = {
        f"numbers__A{i}": [float(row[i - 1]) if row[i - 1] != "?" else None for row in cells]
        for i in _CARDS["numbers"]
    }
    for i in _CARDS["categories"]:
        columns[f"categories__A{i}"] = [row[i - 1] if row[i - 1] != "?" else None for row in cells]
    return Rows(columns, np.array([row[15] for row in cells]))


def _usps(files: Files) -> Rows:
    try:
        import h5py
    except ImportError:
        raise InputError("data set 'usps' is an HDF5 file: pip install h5py") from None

    with h5py.File(io.BytesIO(files["usps.h5"])) as file:
        parts = {part: (file[part]["data"][:], file[part]["target"][:]) for part in file}
    names = ("train", "test")
    pixels, digit = (np.concatenate([parts[name][i] for name in names]) for i in (0, 1))
    sizes = {name: len(parts[name][1]) for name in names}
    return Rows(MultiView({"pixels": pixels}), digit.astype(int), _parts(sizes))


def _digits_of(files: Files, part: str) -> tuple[np.ndarray, np.ndarray]:
    """The images of a part of MNIST, a row each, and their labels."""
    pixels, digit = (
        np.frombuffer(files[f"{part}-{name}-ubyte"], np.uint8, offset=offset)
        for name, offset in [("images-idx3", 16), ("labels-idx1", 8)]
    )
    return pixels.reshape(len(digit), -1), digit.astype(int)


def _mnist(files: Files) -> Rows:
    parts = {"train": _digits_of(files, "train"), "test": _digits_of(files, "t10k")}
    pixels = sp.vstack([sp.csr_array(pixels) for pixels, _ in parts.values()]) / 255
    digit = np.concatenate([digit for _, digit in parts.values()])
    sizes = {name: len(digit) for name, (_, digit) in parts.items()}
    return Rows(MultiView({"pixels": pixels}), digit, _parts(sizes))


def _mnist_t10k(files: Files) -> Rows:
    pixels, digit = _digits_of(files, "t10k")
    return Rows(MultiView({"pixels": pixels / 255}), digit)


def _svmguide1(files: Files) -> Rows:
    X, y = _svmlight(files["svmguide1"], 4)
    return Rows(_columns("particle", X.toarray()), y.astype(int))


def _svmguide3(files: Files) -> Rows:
    X, y = _svmlight(files["svmguide3"])
    return Rows(_columns("vehicle", X.toarray()), y.astype(int))


def _ionosphere(files: Files) -> Rows:
    cells = [line.split(",") for line in files["ionosphere.data"].decode().split()]
    X = np.array([row[:-1] for row in cells], dtype=float)
    columns = _columns("real", X[:, ::2]) | _columns("imaginary", X[:, 1::2])
    return Rows(columns, np.where([row[-1] == "g" for row in cells], "good", "bad"))


def _uci_mfeat(files: Files) -> Rows:
    columns: dict[str, np.ndarray] = {}
    for view in ("fac", "fou", "kar", "mor", "pix", "zer"):
        values = _table(files[f"mfeat-{view}.csv"], skip=1)
        columns |= _columns(view, values[:, :-1])
    return Rows(columns, values[:, -1].astype(int))


def _movielens_100k(files: Files) -> Rows:
    user, item, rating, seconds = _table(files["u.data"], "\t").astype(np.int64).T
    people = [line.split("|") for line in files["u.user"].decode().splitlines()]
    films = [line.split("|") for line in files["u.item"].decode("latin-1").splitlines()]
    lines = files["u.genre"].decode().split()
    genres = [line.partition("|")[0].lower() for line in lines if "|" in line]
    flags = [[flag == "1" for flag in one[-19:]] for one in films]
    tags = [" ".join(genre for genre, has in zip(genres, one, strict=True) if has) for one in flags]
    about = {
        "user__id": np.arange(len(people)) + 1,
        "user__age": np.array([int(one[1]) for one in people]),
        "user__sex": np.array([one[2] for one in people]),
        "user__job": np.array([one[3] for one in people]),
        "item__id": np.arange(len(films)) + 1,
        "item__year": np.array([int(one[2][-4:]) if one[2] else None for one in films]),
        "item__genres": np.array(tags),
    }
    columns = {name: one[(user if "user" in name else item) - 1] for name, one in about.items()}
    return Rows(columns | {"time": seconds}, rating)


def _criteo_sample(files: Files) -> Rows:
    texts = {part: files[f"criteo_{part}.tsv"].decode() for part in ("train", "dev", "test")}
    lines = {part: text.splitlines() for part, text in texts.items()}
    cells = [line.split("\t") for part in lines.values() for line in part]
    label, *fields = zip(*cells, strict=True)
    columns: dict[str, list[int | None] | list[str | None]] = {}
    for i, field in enumerate(fields[:13], 1):
        columns[f"counts__{i}"] = [int(cell) if cell else None for cell in field]
    for i, field in enumerate(fields[13:], 1):
        columns[f"categories__{i}"] = [cell or None for cell in field]
    sizes = {part: len(one) for part, one in lines.items()}
    return Rows(columns, np.array(label, dtype=int), _parts(sizes))


_BIDS = {
    "user": ("ip", "region", "city", "useragent"),
    "page": ("adexchange", "domain", "slotid", "slotwidth", "slotheight", "slotvisibility",
             "slotformat", "slotprice"),
    "ad": ("creative", "advertiser"),
    "time": ("weekday", "hour"),
}  # fmt: skip


def _ipinyou_sample(files: Files) -> Rows:
    """The numbers of the binary columns, one per field; ``featindex.fm.txt`` says what they are."""
    index = files["featindex.fm.txt"].decode().splitlines()
    fields = np.array([line.partition(":")[0].lower() for line in index])
    parts = {part: files[f"{part}.fm.txt"].decode().splitlines() for part in ("train", "test")}
    words = [line.split() for lines in parts.values() for line in lines]
    codes = np.array([[int(word.partition(":")[0]) for word in line[1:]] for line in words])
    column = {field: i for i, field in enumerate(fields[codes[0]].tolist())}
    columns = {
        f"{view}__{field}": codes[:, column[field]].astype(str)
        for view, own in _BIDS.items()
        for field in own
    }
    sizes = {part: len(lines) for part, lines in parts.items()}
    return Rows(columns, np.array([int(line[0]) for line in words]), _parts(sizes))


def _a9a(files: Files) -> Rows:
    return _joined("person", {"train": files["a9a"], "test": files["a9a.t"]}, 123)


def _rcv1_small(files: Files) -> Rows:
    names = {"train": "rcv1_small.dat", "test": "rcv1_small_test.data"}
    texts = {part: files[name].replace(b"|f", b"") for part, name in names.items()}
    return _joined("words", texts, 47_118)


def _news20_w100(files: Files) -> Rows:
    mat = scipy.io.loadmat(io.BytesIO(files["20news_w100.mat"]))
    words = [str(word[0]) for word in mat["wordlist"].ravel()]
    X = MultiView(
        {"words": sp.csr_array(mat["documents"].T, dtype=float)}, feature_names={"words": words}
    )
    return Rows(X, mat["newsgroups"].ravel().astype(int))


def _sms_spam(files: Files) -> Rows:
    lines = files["SMSSpamCollection"].decode().splitlines()
    kind, message = zip(*(line.split("\t", 1) for line in lines if line), strict=True)
    marks = "!?£$*"
    columns: dict[str, list[Any]] = {
        "words__message": list(message),
        "shape__length": [len(text) for text in message],
        "shape__words": [len(text.split()) for text in message],
        "shape__digits": [sum(map(str.isdigit, text)) for text in message],
        "shape__capitals": [sum(map(str.isupper, text)) for text in message],
        "shape__marks": [sum(map(text.count, marks)) for text in message],
    }
    return Rows(columns, np.array(kind))


def _spambase(files: Files) -> Rows:
    values = _table(files["spambase.data"])
    columns = _columns("words", values[:, :48]) | _columns("characters", values[:, 48:54])
    return Rows(columns | _columns("runs", values[:, 54:57]), values[:, 57].astype(int))


_MATLAB: dict[str, Callable[[Files], Rows]] = {
    **dict.fromkeys(("cora", "bbcsport", "reuters_1200", "movies"), _mat),
    **dict.fromkeys(("msrc_v5", "wikipedia", "100leaves"), partial(_mat, form=np.asarray)),
}
# the reader of all others is the function of their name
READERS = {name: _MATLAB.get(name) or globals()[f"_{name}"] for name in PUBLIC}
