"""The bundled tables: their views, and files written whole or not at all."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits

from crossview import InputError, ViewEncoder, datasets, open_table


def views_of(table):
    return {
        view: [name for name in table.column_names if name.startswith(f"{view}__")]
        for view in dict.fromkeys(n.split("__")[0] for n in table.column_names if "__" in n)
    }


def test_breast_cancer_has_ten_measures_in_three_views_and_a_diagnosis():
    table = datasets.load("breast-cancer")
    views = views_of(table)
    assert {view: len(columns) for view, columns in views.items()} == {
        "mean": 10,
        "error": 10,
        "worst": 10,
    }
    measures = [[name.split("__")[1] for name in columns] for columns in views.values()]
    assert measures[0] == measures[1] == measures[2]
    assert table.column_names[-1] == "diagnosis"
    bunch = load_breast_cancer()
    np.testing.assert_array_equal(
        np.column_stack([table[name].to_numpy() for name in table.column_names[:-1]]), bunch.data
    )
    assert table["diagnosis"].to_pylist().count("malignant") == (bunch.target == 0).sum() == 212


def test_digits_have_pixels_profiles_and_fourier_magnitudes():
    table = datasets.load("digits")
    assert {view: len(columns) for view, columns in views_of(table).items()} == {
        "pixels": 64,
        "profile": 16,
        "fourier": 40,
    }
    bunch = load_digits()
    np.testing.assert_array_equal(table["digit"].to_numpy(), bunch.target)
    row = {name: values[0] for name, values in table.slice(100, 1).to_pydict().items()}
    image = bunch.images[100]
    assert row["pixels__2_5"] == image[2, 5]
    assert row["profile__row_2"] == image[2].sum()
    assert row["profile__column_5"] == image[:, 5].sum()
    assert row["fourier__0_0"] == pytest.approx(image.sum())
    waves = np.exp(-2j * np.pi * (np.arange(8)[:, None] * 3 + np.arange(8) * 2) / 8)
    assert row["fourier__3_2"] == pytest.approx(abs((image * waves).sum()))


@pytest.mark.parametrize("name", datasets.names())
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_what_is_written_reads_back_as_it_was(name, suffix, tmp_path):
    path = tmp_path / f"table{suffix}"
    path.write_text("PAR1" if suffix == ".parquet" else "older")
    datasets.write(name, path)
    table = datasets.load(name)
    (batch,) = open_table(path)
    assert batch.X.schema.names == table.column_names
    for column in table.column_names:
        assert batch.X.column(column).to_pylist() == table[column].to_pylist()
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("name", datasets.names())
def test_the_views_are_found_by_the_column_names(name):
    table = datasets.load(name)
    X = ViewEncoder().fit_transform(table)
    assert X.keys() == tuple(views_of(table))
    assert X.present is None


@pytest.mark.parametrize(
    ("name", "path", "message"),
    [
        ("digit", "x.csv", "no data set 'digit'; did you mean 'digits'"),
        ("digits", "x.xlsx", "ends in .parquet or .csv"),
        ("digits", "nowhere/x.csv", "there is no folder"),
        ("digits", "folder.csv", "is a folder"),
    ],
)
def test_what_cannot_be_written_says_why_and_leaves_nothing(name, path, message, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match=message):
        datasets.write(name, tmp_path / path)
    assert [p.name for p in tmp_path.iterdir()] == ["folder.csv"]


def test_a_failure_in_writing_leaves_the_older_file(tmp_path, monkeypatch):
    def half(table, path):
        with open(path, "w") as file:
            file.write("half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyarrow.csv.write_csv", half)
    path = tmp_path / "digits.csv"
    path.write_text("older")
    with pytest.raises(InputError, match="No space left"):
        datasets.write("digits", path)
    assert path.read_text() == "older"
    assert [p.name for p in tmp_path.iterdir()] == ["digits.csv"]
