"""Files of svmlight, libffm and Vowpal Wabbit: read, refused, written, learned from."""

import gzip
import io
import random
import struct
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from crossview import (
    Checkpoint,
    GuessWarning,
    InputError,
    LearnedRowsWarning,
    MultiView,
    ViewEncoder,
    ViewReader,
    compare,
    convert,
    evaluate,
    load,
    load_libffm,
    load_svmlight,
    load_vw,
    open_rows,
    predict,
    train,
    weights,
)
from crossview.cli import main
from crossview.data.labeled import LabeledSource
from crossview.kernels.text.numbers import read_number
from crossview.kernels.text.parsing import LONG, TextRows, sort_buffers, sort_rows
from crossview.readers.sparse.libffm import LibffmSource
from crossview.readers.sparse.svmlight import SvmlightSource
from crossview.readers.sparse.vw import VwSource
from crossview.training.train import TrainingObserver
from reference import text_rows as reference
from shared_data import folder

SVMLIGHT = """# a header

+1 1:0.5 3:2e-3\t7:1 # note
-1 qid:4 2:-.25 3:+4.\r
 2.5 7:0.1 3:1e300 1:0.30000000000000004
nan
0 1:123456789012345678901234567890 8:4.9e-324
1e2 4:1"""
LIBFFM = """1 0:3:1 1:3:0.5\t4:900000000000:2
0 1:5:1 0:7:1e-2\r

nan 4:900000000002:-1 0:3:0.25"""
VW = """1 2.5 'first|user tom age:0.25 7 |ad big:2 tom
|user ann
-1 second|ad:0.5 x:3 1000:2 x:1| :0.5 plain :2 |user:2 tom:0.1\r

0 0 | a b |user
1 'third\v|ad \f x"""
SOURCES = {"svm": SvmlightSource, "ffm": LibffmSource, "vw": VwSource}
TEXTS = {"svm": SVMLIGHT, "ffm": LIBFFM, "vw": VW}


def rows_of(source):
    """The rows of a source as the slow parsers give them; columns by their numbers in the file."""
    rows = []
    first = {}
    for view, parts in source.reading["views"].items():
        first[view] = 0 if source.format == "vw" else int(parts[0].split(":")[-2])
    for batch in source.batches(2):
        for i, label in enumerate(batch.y.tolist()):
            views = {}
            for name in batch.X.layout.names:
                row = batch.X[name][[i]].tocoo()
                columns = (row.col.astype(np.int64) + first[name]).tolist()
                views[name] = dict(zip(columns, row.data.tolist(), strict=True))
            label = None if label is None or label != label else float(label)
            weight = 1.0 if batch.weight is None else float(batch.weight[i])
            rows.append((label, weight, None if batch.tags is None else batch.tags[i], views))
    return rows


def same_rows(source, expected):
    names = source.layout.names
    got = rows_of(source)
    want = [(*head, {name: views.get(name, {}) for name in names}) for *head, views in expected]
    assert got == want


def numbers():
    plain = st.floats(allow_nan=False, allow_infinity=False).map(repr)
    decimal = st.tuples(
        st.sampled_from(["", "-", "+"]),
        st.text("0123456789", min_size=1, max_size=40),
        st.text("0123456789", max_size=40),
        st.integers(-360, 330),
    )
    return plain | decimal.map(lambda t: f"{t[0]}{t[1]}.{t[2]}e{t[3]}")


@given(numbers())
def test_numbers_are_correct_to_the_last_bit(text):
    value, end = read_number(np.frombuffer(f"{text}\n".encode(), np.uint8), np.uint64(0))
    assert end == len(text)
    assert struct.pack("d", value) == struct.pack("d", float(text))


@pytest.mark.parametrize(
    "text",
    [
        "9007199254740992.99999999999999999999",  # just below halfway, and halfway
        "9007199254740993.00000000000000000000",
        "9007199254740993." + 900 * "0" + "1",
        "2.4703282292062327208299439634110764574e-324",
        "1.7976931348623158079e308",
        "1e400",
    ],
)
def test_numbers_halfway_between_two(text):
    value, _ = read_number(np.frombuffer(f"{text}\n".encode(), np.uint8), np.uint64(0))
    assert value == float(text)


@pytest.mark.parametrize("end", TEXTS)
def test_rows_are_those_of_the_slow_parsers_however_the_bytes_are_cut(end, tmp_path):
    file, text = tmp_path / f"t.{end}", TEXTS[end]
    file.write_bytes(text.encode())
    parse = {"svm": reference.svmlight, "ffm": reference.libffm}
    expected = parse[end](text) if end in parse else reference.vw(text, 12)
    options = {"hash_bits": 12, "tags": True} if end == "vw" else {}
    for part_bytes in (1, 2, 3, 7, 19, 64, 1 << 22):
        source = SOURCES[end]([str(file)], part_bytes=part_bytes, **options)
        same_rows(source, expected)
        assert source.first_pass().n_rows == len(expected)
    file.write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\n\n")
    same_rows(SOURCES[end]([str(file)], **options), expected)


def test_svmlight_is_read_as_by_scikit_learn():
    from sklearn.datasets import load_svmlight_file

    file = folder("a9a") / "a9a.t.gz"
    X, y = load_svmlight(str(file))
    theirs, labels = load_svmlight_file(str(file))
    np.testing.assert_array_equal(y, labels)
    for mine, other in ((X.matrix.data, theirs.data), (X.matrix.indices, theirs.indices)):
        np.testing.assert_array_equal(mine, other)
    np.testing.assert_array_equal(X.matrix.indptr, theirs.indptr)


def test_views_are_ranges_fields_and_namespaces(tmp_path):
    for end, text in TEXTS.items():
        (tmp_path / f"t.{end}").write_text(text)
    X, _ = load_svmlight(tmp_path / "t.svm", views={"a": "7:", "b": ["1:2", "4"]})
    assert X.layout.widths == (2, 3)
    assert X["a"].toarray()[:, 0].tolist() == [1, 0, 0.1, 0, 0, 0]
    assert X["b"].toarray()[:, 2].tolist() == [0, 0, 0, 0, 0, 1]
    X, y = load_libffm(tmp_path / "t.ffm", views={"user": "0,4", "ad": 1}, hash_bits=1)
    assert y.tolist() == [1, 0, None]
    # (index - lowest) mod 2: field 0 has 3 to 7, field 4 has three indices
    assert X["user"].toarray().tolist() == [[1, 0, 2, 0], [0.01, 0, 0, 0], [0.25, 0, -1, 0]]
    assert X["ad"].toarray().tolist() == [[0.5, 0], [1, 0], [0, 0]]
    X, _, weight = load_vw(tmp_path / "t.vw", views={"one": "ad,default"}, return_weight=True)
    assert X.layout.names == ("one",)
    assert weight.tolist() == [2.5, 1, 1, 0, 1]
    for views, message in (
        ({"a": "1:5", "b": "3:"}, "column 3 is in view 'a' and again in 'b'"),
        ({"a": "5:1"}, "ends before it begins"),
        ({"a": "x"}, "'x' is no range of columns"),
        ({"a": "99:"}, "begins at column 99, and the last column is 8"),
    ):
        with pytest.raises(InputError, match=message):
            load_svmlight(tmp_path / "t.svm", views=views)


BAD = [
    ("svm", "1 1:2\nspam 1:1", "'spam' is no label", 2, 1),
    ("svm", "1,2 1:2", "'1,2' is no label", 1, 1),
    ("svm", "1 1:2\n\n1:1", "begins with the entry '1:1'", 3, 1),
    ("svm", "1 1:2 x:3", "'x:3' is no entry index:value", 1, 7),
    ("svm", "1 -1:2", "'-1:2' is no entry", 1, 3),
    ("svm", "1 9999999999999999999:1", "up to 18 digits", 1, 3),
    ("svm", "1 1:", "'1:' has no finite number", 1, 3),
    ("svm", "1 1:1 2:nan", "'2:nan' has no finite number", 1, 7),
    ("svm", "1 1:1 2:1e999", "beyond the largest", 1, 7),
    ("svm", "1 1:2:3", "'1:2:3' has no finite number", 1, 3),
    ("svm", "1 1:1\0 2:1", "has no finite number", 1, 3),
    ("ffm", "1 1:2", "'1:2' is no entry field:index:value", 1, 3),
    ("ffm", "1 70000:1:2", "a field from 0 to 65535", 1, 3),
    ("vw", "1 |a b\n1 2 a", "'a' is an initial prediction", 2, 5),
    ("vw", "1 -2 |a b", "'-2' is no importance weight", 1, 3),
    ("vw", "1 1 0.5 |a b", "'0.5' is an initial prediction", 1, 5),
    ("vw", "1:0.5:0.2 |a b", "'1:0.5:0.2' is no simple label", 1, 1),
    ("vw", "shared |a b", "'shared' is no simple label", 1, 1),
    ("vw", "1 ", "the line ends without a bar", 1, 3),
    ("vw", "1 |a b:x", "'b:x' has no finite number", 1, 6),
    ("vw", "1 |a b\n1 |" + 2**17 * "a", "its name has more than 4,096 bytes", 2, 4),
]


@pytest.mark.parametrize(("end", "text", "message", "line", "column"), BAD)
def test_the_first_wrong_byte_is_named(end, text, message, line, column, tmp_path):
    file = tmp_path / f"bad.{end}"
    file.write_text(text)
    with pytest.raises(InputError, match=rf".*\(line {line}, column {column}\)$") as caught:
        list(open_rows(str(file), views={"v": {"svm": "1:9", "ffm": "1:0:9", "vw": "a"}[end]}))
    assert message in str(caught.value)
    assert caught.value.file == str(file)
    assert caught.value.row == text[: text.rfind("\n") + 1].replace("\n\n", "\n").count("\n")


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("1 |a b:1 c |long_name:2 d:3\n0 |a b:2 :0x |c", "':0x' has no finite", 2, 10),
        ("1 |a b|a:2 c:8e307 d:9e307 e|", "'d:9e307' is beyond the largest number", 1, 20),
        ("1 |a b:1:2 c\n", "'b:1:2' has no finite", 1, 6),
        ("1 |a:1e400\n", "'1e400' is beyond the largest number", 1, 6),
    ],
)
@pytest.mark.parametrize("view", ["a", "other"])
def test_values_that_are_not_kept_are_checked(text, message, line, column, view, tmp_path):
    file = tmp_path / "bad.vw"
    file.write_text(text)
    rows = open_rows(file, views={"v": view})
    for read in (
        rows.label_counts,
        lambda: list(rows),
    ):  # the pass before the rows, and that of the rows
        with pytest.raises(InputError, match=rf"\(line {line}, column {column}\)$") as caught:
            read()
        assert message in str(caught.value)


TWICE = [
    ("svm", "1 1:1\n\n1 2:1 1:1 2:1\n1 x:1", "a column twice"),
    ("svm", "1 1:1\n\n1 2:1 2:1\n", "a column twice"),
    ("ffm", "1 1:1:1\n\n1 1:1:1 1:1:2\n", "a field and index twice"),
]


@pytest.mark.parametrize(("end", "text", "message"), TWICE)
def test_a_row_with_a_column_twice_is_named_before_what_is_wrong_later(
    end, text, message, tmp_path
):
    file = tmp_path / f"bad.{end}"
    file.write_text(text)
    with pytest.raises(InputError, match=rf"row 1: .*{message}.*\(line 3\)$"):
        list(open_rows(str(file), views={"v": {"svm": "1:9", "ffm": "1:0:9"}[end]}))


def test_what_is_far_from_its_place_is_sorted_or_refused(tmp_path):
    file = tmp_path / "far.svm"
    order = list(range(300, 0, -1))
    file.write_text("1 " + " ".join(f"{i}:{i}" for i in order) + "\n")
    X, _ = load_svmlight(file)
    assert X.matrix.toarray().tolist() == [sorted(order)]
    file.write_text("1 1:1\n1 " + " ".join(f"{i}:{i}" for i in [*order, 300]) + "\n")
    with pytest.raises(InputError, match=r"row 1: the row has a column twice.*line 2"):
        load_svmlight(file)


@pytest.mark.parametrize("longest", [7, 40, LONG + 1])
def test_rows_of_any_lengths_are_sorted_and_what_meets_is_added_in_order(longest):
    rng = np.random.default_rng(longest)
    lengths = np.append(rng.integers(0, min(longest, 60), size=45), [longest, 1, 0])
    indptr = np.cumsum([0, *lengths]).astype(np.uint64)
    indices = rng.integers(0, longest, size=indptr[-1]).astype(np.uint32)
    values = rng.normal(size=indptr[-1])
    sums = []
    for begin, end in pairwise(indptr.tolist()):
        sums.append({})
        for slot, value in zip(indices[begin:end].tolist(), values[begin:end], strict=True):
            sums[-1][slot] = sums[-1].get(slot, 0.0) + value
    rows = TextRows(np.empty(48), np.empty(48, np.uint64), indptr, indices, values)
    assert sort_rows(rows, np.uint64(48), True, *sort_buffers(longest)) == 48
    found = [
        list(zip(indices[begin:end].tolist(), values[begin:end].tolist(), strict=True))
        for begin, end in pairwise(indptr.tolist())
    ]
    assert found == [sorted(one.items()) for one in sums]


def rows_and_labels(draw):
    n, widths = draw(st.integers(1, 5)), draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    value = st.just(0.0) | st.just(1.0) | st.floats(allow_nan=False, allow_infinity=False)
    row = st.lists(value, min_size=sum(widths), max_size=sum(widths))
    matrix = np.array(draw(st.lists(row, min_size=n, max_size=n)))
    pairs = zip(widths, np.cumsum(widths), strict=True)
    views = {f"v{k}": matrix[:, end - w : end] for k, (w, end) in enumerate(pairs)}
    y = draw(st.lists(st.sampled_from([-1.0, 1.0, 2.5]), min_size=n, max_size=n))
    return MultiView(views), np.array(y)


@given(st.composite(rows_and_labels)(), st.sampled_from(["svm", "ffm", "vw.gz"]))
def test_what_is_written_is_read_to_the_last_bit(tmp_path_factory, made, end):
    X, y = made
    file = tmp_path_factory.mktemp("rows") / f"t.{end}"
    answer = convert(X, y, file)
    stream = open_rows(file, views=answer.views, hash_bits=4 if "vw" in end else 18)
    back = list(stream)
    assert answer.n_rows == len(y)
    np.testing.assert_array_equal(np.concatenate([batch.y for batch in back]), y)
    for name, width in zip(X.layout.names, X.layout.widths, strict=True):
        read = np.vstack([batch.X[name].toarray() for batch in back])[:, :width]
        np.testing.assert_array_equal(read, X[name])


@pytest.fixture(scope="module")
def clicks(tmp_path_factory):
    """The same rows of two views in memory and in a file of each format."""
    rng = np.random.default_rng(0)
    n = 600
    views = {}
    for name in ("user", "ad"):
        views[name] = np.where(rng.random((n, 6)) < 0.6, rng.normal(size=(n, 6)), 0.0)
    y = np.where(views["user"][:, 0] + views["ad"].sum(axis=1) + rng.normal(size=n) > 0, 1, -1)
    X = MultiView({name: sp.csr_array(view) for name, view in views.items()})
    folder = tmp_path_factory.mktemp("clicks")
    how = {}
    for end in ("svm", "ffm.gz", "vw"):
        how[str(folder / f"t.{end}")] = convert(X, y, folder / f"t.{end}").views
    return X, y, how


def test_learning_from_a_file_is_learning_from_memory(clicks, tmp_path):
    X, y, how = clicks
    for file, views in how.items():
        rows = open_rows(file, views=views, hash_bits=3)
        if file.endswith(".vw"):
            X, y = load_vw(file, views=views, hash_bits=3)
        given = {"model": "pa:squared", "in_order": True}
        memory = train(X, y, **given)
        whole = train(rows, output=tmp_path / "m.st", **given)
        np.testing.assert_array_equal(whole.learner.coef_, memory.learner.coef_)
        np.testing.assert_array_equal(load(tmp_path / "m.st")[-1].coef_, memory.learner.coef_)
        # the model knows how to read a file
        answer = predict(tmp_path / "m.st", file)
        assert answer.equals(predict(memory.fitted, X))
        with pytest.warns(LearnedRowsWarning, match="100% of the rows"):
            assert evaluate(tmp_path / "m.st", file).n_rows == len(y)
    with pytest.raises(InputError, match="is svmlight, and the model reads vw"):
        predict(tmp_path / "m.st", next(iter(how)))


def test_a_file_in_two_parts_is_one_stream(clicks, tmp_path):
    _, _, how = clicks
    file, views = next(iter(how.items()))
    lines = Path(file).read_text().splitlines(keepends=True)
    for name, part in (("a", lines[:250]), ("b", lines[250:])):
        (tmp_path / f"{name}.svm").write_text("".join(part))
    given = {"model": "arow", "in_order": True}
    whole = train(file, views=views, **given)
    first = train(tmp_path / "a.svm", views=views, output=tmp_path / "m.st", **given)
    both = train(tmp_path / "b.svm", init=tmp_path / "m.st", in_order=True)
    np.testing.assert_array_equal(both.learner.coef_, whole.learner.coef_)
    assert (first.rows, both.rows) == (250, 600)
    parts = train([tmp_path / "a.svm", tmp_path / "b.svm"], views=views, **given)
    np.testing.assert_array_equal(parts.learner.coef_, whole.learner.coef_)
    # the columns are called as in the file
    names = set(weights(parts.fitted)["column"].to_pylist())
    assert names == {str(i) for i in range(1, 13)}


def test_a_run_that_was_killed_goes_on(clicks, tmp_path, monkeypatch):
    class KilledError(Exception):
        pass

    class Killer(TrainingObserver):
        n_rows = 0

        def add_rows(self, n_rows):
            self.n_rows += n_rows
            if self.n_rows > 300:
                raise KilledError

    _, _, how = clicks
    monkeypatch.setattr(LabeledSource, "batch_rows", 100)
    file, views = next(iter(how.items()))
    given = {"model": "pa:squared", "in_order": True, "views": views}
    whole = train(file, **given)
    kept = {"checkpoint": Checkpoint(tmp_path / "run.st", every=0)}
    with pytest.raises(KilledError):
        train(file, **given, **kept, log=Killer())
    kept["checkpoint"] = Checkpoint(tmp_path / "run.st", resume=True)
    resumed = train(file, **given, **kept)
    np.testing.assert_array_equal(resumed.learner.coef_, whole.learner.coef_)
    assert resumed.accuracy == whole.accuracy


def heads_of(file):
    return [line.split()[0] for line in file.read_text().splitlines()]


@pytest.mark.parametrize("end", ["svm", "ffm", "vw"])
def test_the_positive_class_is_written_as_1_and_the_other_as_minus_1(end, tmp_path):
    file, again = tmp_path / f"t.{end}", tmp_path / "again.vw"
    names = ["good", "bad", "good", "good", "good"]
    table = pa.table({"x": [1.0, 2.0, 3.0, 4.0, 5.0], "y": names})
    for X, y in ((table, "y"), (MultiView({"v": np.ones((5, 1))}), np.array(names))):
        answer = convert(X, y, file)
        assert answer.labels == {"bad": 1, "good": -1}
        assert heads_of(file) == ["-1", "1", "-1", "-1", "-1"]
        assert convert(X, y, file, positive="good").labels == {"bad": -1, "good": 1}
    stream = open_rows(file, views=answer.views)
    assert next(iter(stream)).y.tolist() == [1, -1, 1, 1, 1]
    assert convert(file, None, again, views=answer.views, positive=-1).labels == {-1: 1, 1: -1}
    with pytest.raises(InputError, match="no class 'best'"):
        convert(table, "y", file, positive="best")


def test_classes_that_are_numbers_are_those_of_vowpal_wabbit(tmp_path):
    X = MultiView({"v": np.ones((6, 1))})
    for y, heads in (
        ([0, 1, 0, 1, 0, 0], ["-1", "1", "-1", "1", "-1", "-1"]),
        ([1, -1, 1, -1, -1, -1], ["1", "-1", "1", "-1", "-1", "-1"]),
    ):
        convert(X, np.array(y), tmp_path / "t.svm")
        assert heads_of(tmp_path / "t.svm") == [str(one) for one in y]
        for source, labels in ((X, np.array(y)), (tmp_path / "t.svm", None)):
            convert(source, labels, tmp_path / "t.vw")
            assert heads_of(tmp_path / "t.vw") == heads
    digits = np.array([0, 1, 2, 0, 1, 2])
    answer = convert(X, digits, tmp_path / "t.vw", task="classification")
    assert answer.labels == {0: 1, 1: 2, 2: 3}
    assert heads_of(tmp_path / "t.vw") == ["1", "2", "3", "1", "2", "3"]
    assert convert(X, np.array(list("abcabc")), tmp_path / "t.svm").labels == {
        "a": 1,
        "b": 2,
        "c": 3,
    }
    for y in (digits / 2, digits):
        assert convert(X, y, tmp_path / "t.vw", task="regression").labels == {}
    with pytest.raises(InputError, match="about classes"):
        convert(X, digits, tmp_path / "t.vw", task="regression", positive=1)
    with pytest.raises(InputError, match="for two classes, and there are 3"):
        convert(X, digits, tmp_path / "t.vw", task="classification", positive=1)


def test_weights_and_missing_labels(tmp_path):
    rng = np.random.default_rng(1)
    X = MultiView({name: sp.csr_array(rng.normal(size=(90, 3))) for name in "ab"})
    y = np.where(X["a"].toarray()[:, 0] > 0, 1.0, -1.0)
    convert(X, np.where(y > 0, "b", "a"), tmp_path / "s.vw")
    heads = {line.split(" ")[0] for line in (tmp_path / "s.vw").read_text().splitlines()}
    assert heads == {"-1", "1"}
    convert(X, y, tmp_path / "t.vw")
    lines = (tmp_path / "t.vw").read_text().splitlines()
    weight = np.where(np.arange(90) % 3, 1.0, 2.5)
    heavy = [f"{line.replace(' ', f' {w} ', 1)}\n" for line, w in zip(lines, weight, strict=True)]
    (tmp_path / "w.vw").write_text("".join(heavy))
    given = {"model": "pa:squared", "in_order": True}
    from_file = train(tmp_path / "w.vw", encoder=ViewEncoder(hash_bits=2), **given)
    X2, y2 = load_vw(tmp_path / "t.vw", hash_bits=2)
    in_memory = train(X2, y2, weight=weight, **given)
    np.testing.assert_array_equal(from_file.learner.coef_, in_memory.learner.coef_)
    how = {"models": ["pa:squared"], "progressive": True, "grid": {"C": [0.1]}}
    ours = compare(tmp_path / "w.vw", encoder=ViewEncoder(hash_bits=2), **how).rows[0]
    theirs = compare(X2, y2, weight=weight, **how).rows[0]
    assert (ours.value, ours.threshold) == (theirs.value, theirs.threshold)
    assert ours.threshold != compare(X2, y2, **how).rows[0].threshold
    # nan, and no label
    y[60:] = np.nan
    for end in ("svm", "vw"):
        answer = convert(X, y, tmp_path / f"u.{end}")
        trained = train(tmp_path / f"u.{end}", views=answer.views, model="pa:squared")
        assert (trained.rows, trained.skipped) == (60, 30)
        half = {
            "model": "keco",
            "settings": {"n_iterations": 20},
            "encoder": ViewEncoder(hash_bits=2),
        }
        trained = train(tmp_path / f"u.{end}", views=answer.views, **half)
        assert (trained.rows, trained.unlabeled) == (60, 30)


def test_weights_are_written_as_importances(tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = {f"{view}__x": rng.normal(size=50) for view in "ab"}
    weight = rng.choice([0.0, 1.0, 2.5], 50)
    table = pa.table({**rows, "w": weight, "y": rng.choice(["no", "yes"], 50)})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    words = ["convert", str(tmp_path / "t.parquet"), "--label", "y", "--weight", "w", "-o"]
    assert main([*words, str(tmp_path / "t.vw")]) == 0
    [batch] = open_rows(tmp_path / "t.vw", hash_bits=2)
    np.testing.assert_array_equal(batch.weight, weight)
    assert batch.X.layout.names == ("a", "b")
    convert(batch.X, batch.y, tmp_path / "again.vw", weight=batch.weight)
    assert (tmp_path / "again.vw").read_text() == (tmp_path / "t.vw").read_text()
    assert main([*words, str(tmp_path / "t.svm")]) == 2
    assert "rows have weights, which only .vw files have" in capsys.readouterr().err
    with pytest.raises(InputError, match="weight= is for tables, and the file holds views"):
        convert(tmp_path / "t.vw", None, tmp_path / "u.vw", weight=weight)
    with pytest.raises(InputError, match="49 weights for 50 rows"):
        convert(batch.X, batch.y, tmp_path / "u.vw", weight=weight[:-1])


def test_labels_beyond_whole_numbers_are_no_classes(tmp_path):
    file = tmp_path / "large.vw"
    file.write_text("1 |a b\n1e40 |a c\n")
    with pytest.raises(InputError, match=r"1e\+40 is not a class"):
        train(open_rows(file, hash_bits=4), model="perceptron")


def test_a_weight_beside_which_others_are_nothing_is_refused_by_row(tmp_path):
    file = tmp_path / "heavy.vw"
    file.write_text("1 |a b\n-1 1e308 |a c\n")
    with pytest.raises(InputError, match=r"heavy\.vw, row 1: 1e\+308 is no weight; give a number"):
        train(open_rows(file, hash_bits=4), model="perceptron")


def test_the_commands(clicks, tmp_path, monkeypatch, capsys):
    _, _, how = clicks
    svm, vw = next(iter(how)), list(how)[-1]
    monkeypatch.chdir(tmp_path)

    def run(*argv, stdin=None):
        if stdin is not None:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        status = main([str(word) for word in argv])
        out, err = capsys.readouterr()
        return status, out, err

    text = gzip.decompress(Path(list(how)[1]).read_bytes())
    pa_options = ["--model", "pa:squared", "--in-order"]
    views = ["--view", "user=1:6", "--view", "ad=7:"]
    assert run("train", svm, *views, *pa_options, "-o", "m.st")[0] == 0
    with pa.OSFile("c.svm.zst", "wb") as raw, pa.CompressedOutputStream(raw, "zstd") as out:
        out.write(Path(svm).read_bytes())
    assert run("train", "c.svm.zst", *views, *pa_options, "-o", "z.st")[0] == 0
    np.testing.assert_array_equal(load("z.st")[-1].coef_, load("m.st")[-1].coef_)
    of_fields = ["--format", "libffm", "--view", "user=0", "--view", "ad=1"]
    assert run("train", "-", *of_fields, *pa_options, "-o", "f.st", stdin=text)[0] == 0
    np.testing.assert_array_equal(load("f.st")[-1].coef_, load("m.st")[-1].coef_)
    assert "all: 1" not in run("inspect", "m.st")[1]
    assert "user: 1" in run("inspect", "m.st")[1]
    assert run("predict", "m.st", svm, "--explain", "1", "-o", "p.parquet")[0] == 0
    assert pa.parquet.read_table("p.parquet").num_rows == 600
    status, out, _ = run("describe", svm, *views)
    assert status == 0
    assert "600 rows, labels -1: " in out
    assert (
        "its views: --view user=user --view ad=ad" in run("convert", svm, *views, "-o", "t.vw")[2]
    )
    assert run("train", "t.vw", "--hash-bits", 3, *pa_options, "-o", "v.st")[0] == 0
    rows = Path(vw).read_text().replace(" |user", " 'one |user", 1).encode()
    status, out, _ = run("predict", "v.st", "-", "--format", "vw", "--keep", "tag", stdin=rows)
    assert out.splitlines()[1].startswith('"one",')
    given = ["--cv", 2, "--model", "pa:squared", "--model", "view:user", "--jobs", 1]
    status, out, _ = run("compare", svm, *views, *given)
    assert "--view user=1:6 --view ad=7:" in out
    for argv, message in (
        (["train", svm, "-o", "x.st", "--text", "a"], "--text is about columns"),
        (["train", svm, "-o", "x.st", "--weight", "a"], "--weight is about columns, and svmlight"),
        (["compare", svm, "--time", "a", "--groups", "b"], "--groups is about columns, and svmlig"),
        (["train", svm, "-o", "x.st", "--label", "y"], "the file has the labels"),
        (["train", svm, "-o", "x.st", "--bins", "4"], "leave --bins"),
        (["predict", "m.st", svm, "--keep", "id"], "these rows have none"),
        (["convert", svm, "-o", "x.txt"], "write to a name that ends in .svm"),
    ):
        status, _, err = run(*argv)
        assert status == 2
        assert message in err


INSERTED = [b"", b"|", b":", b" ", b"\n", b"9" * 25, b"-", b"\0", b"\v", b"\xff", b"e9"]


def test_damaged_files_are_read_or_refused(tmp_path):
    """Never a crash, and never another kind of error."""
    rng = random.Random(0)
    for k in range(240):
        end = ("svm", "ffm", "vw")[k % 3]
        text = bytearray(TEXTS[end].encode())
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(text))
            text[at : at + rng.randrange(3)] = rng.choice(INSERTED)
        file = tmp_path / f"m.{end}"
        file.write_bytes(text)
        found = set()
        for part_bytes in (5, 1 << 12):
            try:
                source = SOURCES[end]([str(file)], part_bytes=part_bytes, hash_bits=6)
                found.add(sum(len(batch.X) for batch in source.batches(3)))
            except InputError as error:
                found.add(str(error))
        assert len(found) == 1
    (tmp_path / "d.svm.gz").write_bytes(gzip.compress(SVMLIGHT.encode())[:40])
    with pytest.raises(InputError, match=r"is damaged, or no gzip file"):
        load_svmlight(tmp_path / "d.svm.gz")


@pytest.mark.parametrize(
    ("format", "views", "hash_bits"),
    [
        ("svmlight", {"a": ["x"]}, 18),
        ("svmlight", {"a": ["1:"]}, 18),
        ("libffm", {"a": ["1:2"]}, 18),
        ("csv", {"a": ["1:2"]}, 18),
        ("vw", {}, 18),
        ("vw", {"a": ["b"]}, 31),
        ("vw", ["a"], 18),
    ],
)
def test_a_reader_from_a_made_up_file_is_refused(format, views, hash_bits):
    with pytest.raises(InputError, match="a ViewReader has a format"):
        ViewReader(format, views, hash_bits).check_params()


def test_a_view_without_a_namespace_in_any_row_is_refused_unless_a_model_knows_it(tmp_path):
    first, later = tmp_path / "first.vw", tmp_path / "later.vw"
    first.write_text("1 |user a b |ad x\n-1 |user c |ad y\n" * 40)
    later.write_text("1 |user a\n-1 |user c\n" * 40)
    with pytest.raises(InputError, match=r"view 'u': no row has a namespace 'uzer'; did you mean"):
        train(str(first), views={"u": "uzer", "ad": "ad"}, model="pa:squared")
    views = {"user": "user", "ad": "ad"}
    trained = train(str(first), views=views, model="pa:squared", encoder=ViewEncoder(hash_bits=4))
    with pytest.warns(GuessWarning, match=r"view 'ad' is missing in .*later.vw; learned without"):
        again = train(str(later), init=trained)
    assert again.rows == 160
    with pytest.warns(
        UserWarning, match="view 'ad' is missing; scored by the others, and a constant"
    ):
        predict(trained.fitted, str(later))
    assert evaluate(trained.fitted, str(later)).missing_views == ["ad"]
    later.write_text("1 |User a |Ad x\n" * 40)
    for use in (predict, evaluate, lambda model, rows: train(rows, init=model)):
        with pytest.raises(InputError, match=r"none of the model's namespaces .*it has User, Ad"):
            use(trained, str(later))


def test_a_model_of_one_view_of_a_file_reads_the_next_file(tmp_path):
    lines = ["1 1:1 3:2", "-1 2:1 3:1", "1 1:2", "-1 2:3 4:1"]
    (tmp_path / "t.svm").write_text("\n".join(lines) + "\n")
    views = {"a": ["1:2"], "b": ["3:4"]}
    trained = train(tmp_path / "t.svm", model="view:a", views=views, output=tmp_path / "m.st")
    assert trained.encoder.views == {"a": ["1:2"]}
    answer = predict(tmp_path / "m.st", tmp_path / "t.svm")
    assert answer.equals(predict(trained.fitted, tmp_path / "t.svm"))
    assert answer["prediction"].to_pylist() == [1, -1, 1, -1]


def test_convert_names_the_view_that_a_row_has_not(tmp_path):
    table = pa.table({"a__x": [1.0, 2.0], "b__x": [1.0, None], "y": [0, 1]})
    with pytest.raises(InputError, match=r"row 1: view 'b' is missing, and a vw file .*WHERE"):
        convert(table, "y", tmp_path / "rows.vw")


@pytest.mark.parametrize(
    ("format", "lines"),
    [
        ("vw", "1 |a x |b z\n-1 |a y\n"),
        ("svmlight", "1 1:1 2:1\n-1 1:2\n"),
        ("libffm", "1 0:1:1 1:2:1\n-1 0:2:1\n"),
    ],
)
def test_a_row_without_entries_has_all_views_missing(format, lines, tmp_path):
    path = tmp_path / "rows"
    path.write_text(lines * 20)
    fitted = train(open_rows(path, format=format), model="pa:squared").fitted
    assert fitted.predict_one({}) in (-1, 1)
    assert fitted.learn_one({}, 1).predict_one({}) in (-1, 1)
