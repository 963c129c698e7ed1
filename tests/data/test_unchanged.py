"""A file that changes while it is read is an error before a row is passed on that is not sound."""

import gzip
import os
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crossview import InputError, convert, open_rows, open_table, train
from crossview.readers.sparse import text_rows
from crossview.readers.unchanged import UnchangedFiles

N = 3000


def write(path):
    """Rows that are all alike, in the format of the name."""
    kind = path.name.split(".")[1]
    lines = {
        "vw": "1 |u name:0.25 other\n",
        "svm": "1 3:0.25 17:12\n",
        "ffm": "1 0:3:1 1:17:0.25\n",
        "csv": "yes,0.25,red\n",
        "jsonl": '{"y": "yes", "n__x": 0.25, "c__color": "red"}\n',
    }
    if kind == "parquet":
        columns = {"y": ["yes"] * N, "n__x": np.arange(N) * 0.25, "c__color": ["red"] * N}
        pq.write_table(pa.table(columns), path, row_group_size=100, compression="none")
        return
    text = ("y,n__x,c__color\n" if kind == "csv" else "") + lines[kind] * N
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def opened(path, **options):
    is_rows = path.name.split(".")[1] in ("vw", "svm", "ffm")
    stream = (open_rows if is_rows else open_table)(str(path), batch_rows=100, **options)
    return stream


def later(path):
    """Make it as if some time had passed since a file was written."""
    known = path.stat()
    os.utime(path, ns=(known.st_atime_ns, known.st_mtime_ns - 10**9))


def cut(path):
    os.truncate(path, path.stat().st_size - 3)


def grow(path):
    with path.open("ab") as file:
        file.write(b"\n")


def overwrite(path):
    with path.open("rb+") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"7")


FORMATS = ["rows.vw", "rows.svm", "rows.ffm", "rows.csv", "rows.jsonl", "rows.parquet"]
CHANGES = {
    cut: r"it had [\d,]+ bytes, and has",
    grow: "it had",
    overwrite: "it was written again at",
}


@pytest.mark.parametrize("name", [*FORMATS, "rows.vw.gz", "rows.csv.gz"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_one_line_that_names_the_file(name, change, tmp_path):
    path = tmp_path / name
    write(path)
    later(path)
    stream = opened(path)
    assert len(list(stream)) >= N // 100  # as often as it stays as it is
    batches = iter(stream)
    next(batches)
    change(path)
    with pytest.raises(
        InputError, match=rf"^{path}: changed while it was in use: {CHANGES[change]}"
    ):
        for _ in batches:
            pass
    with pytest.raises(InputError, match="changed while it was in use"):
        next(iter(stream))


@pytest.mark.parametrize("name", FORMATS[:3])
def test_a_row_that_was_cut_is_never_passed_on(name, tmp_path, monkeypatch):
    """The parser sees the start of a line as a row; the last one has another number then."""
    path = tmp_path / name
    write(path)
    later(path)
    monkeypatch.setattr(text_rows, "PART_BYTES", 500)
    stream = opened(path)
    assert stream.n_rows == N
    whole = next(iter(stream)).X.matrix.sum(axis=1)
    cut(path)
    sums = (batch.X.matrix.sum(axis=1) for batch in stream)
    with pytest.raises(InputError, match="changed while it was in use"):
        assert all(np.isin(one, whole).all() for one in sums)


def test_a_file_that_is_gone_or_another_one_is_an_error(tmp_path):
    path = tmp_path / "rows.parquet"
    write(path)
    stream = open_table(str(path))
    path.unlink()
    with pytest.raises(InputError, match=r"rows\.parquet: changed while it was in use: it is gone"):
        list(stream)


def test_the_files_of_a_query_are_watched_and_no_others(tmp_path):
    for name in ("a.csv", "b.csv", "rows.parquet", "other.csv"):
        write(tmp_path / name)
        later(tmp_path / name)
    query = (
        f"SELECT * FROM read_csv('{tmp_path}/[ab].csv', nullstr='{tmp_path}/other.csv') "
        f"UNION ALL BY NAME FROM '{tmp_path}/rows.parquet'"
    )
    stream = open_table(query)
    grow(tmp_path / "other.csv")
    assert sum(batch.X.num_rows for batch in stream) == 3 * N
    overwrite(tmp_path / "b.csv")
    with pytest.raises(InputError, match=r"b\.csv: changed while it was in use"):
        list(stream)
    stream = open_table(f"FROM '{tmp_path}/[ab].csv'")
    write(tmp_path / "other.csv")
    assert sum(batch.X.num_rows for batch in stream) == 2 * N
    stream = open_table(f"FROM '{tmp_path}/*.csv'")
    write(tmp_path / "new.csv")
    with pytest.raises(InputError, match=r"new\.csv: appeared while the files were in use"):
        list(stream)


def test_pipes_are_passed_over_and_another_machine_has_its_own_copy(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    UnchangedFiles([str(tmp_path / "pipe"), str(tmp_path / "nothing"), os.devnull]).check()
    path = tmp_path / "rows.csv"
    write(path)
    sent = pickle.loads(pickle.dumps(UnchangedFiles([str(path)])))
    later(path)
    sent.check()
    later(path)  # from now on it must stay
    with pytest.raises(InputError, match="written again"):
        sent.check()
    sent = pickle.loads(pickle.dumps(UnchangedFiles([str(path)])))
    grow(path)
    with pytest.raises(InputError, match="it had"):
        sent.check()
    UnchangedFiles([str(path)]).only([]).check(str(path))


def test_nothing_is_written(tmp_path):
    path, table = tmp_path / "rows.vw", tmp_path / "rows.csv"
    for file in (path, table):
        write(file)
        later(file)
    rows, columns = open_rows(str(path)), open_table(str(table))
    for file in (path, table):
        cut(file)
    with pytest.raises(InputError, match=r"rows\.vw: changed"):
        convert(rows, None, str(tmp_path / "out.svm"))
    with pytest.raises(InputError, match=r"rows\.csv: changed"):
        train(columns, "y", classes=["yes", "no"], model="perceptron", output=tmp_path / "m.st")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["rows.csv", "rows.vw"]
