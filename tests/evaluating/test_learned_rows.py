"""Whether a model has learned the rows that it is evaluated on."""

import json
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import crossview
from command_line import run
from crossview import InputError, LearnedRowsWarning, MultiView, evaluate, save, train
from crossview.saving.model_files import read_info
from live_servers import serving

WORDS = "rows that the model has learned"


def make_table(n, seed):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    color = rng.choice(["red", "green", "blue"], n)
    y = np.where(x + z + (color == "red") + rng.normal(size=n) > 0.3, "yes", "no")
    when = pa.array(rng.integers(0, 2**30, n), pa.timestamp("s"))
    return pa.table({"a__x": x, "a__when": when, "b__z": z, "b__color": color, "y": y})


@pytest.fixture(scope="module")
def tables():
    return make_table(600, 0), make_table(600, 1)


@pytest.fixture
def files(tmp_path, tables):
    for table, name in zip(tables, ("old", "new"), strict=True):
        pa_csv.write_csv(table, tmp_path / f"{name}.csv")
        pq.write_table(table, tmp_path / f"{name}.parquet")
    half = pa.concat_tables([table.slice(0, 300) for table in tables])
    pq.write_table(half, tmp_path / "half.parquet")
    return tmp_path


def learned_share(*args, **given):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LearnedRowsWarning)
        found = evaluate(*args, views=False, **given)
    said = [str(one.message) for one in caught if one.category is LearnedRowsWarning]
    assert said == found.learned_rows
    assert bool(said) == bool(found.learned) == any(WORDS in line for line in found.warnings)
    return found.learned


MODELS = [
    ("arow", {}),
    ("stacking", {"in_order": True}),
    ("logistic-regression", {}),
    ("view:b", {}),
    pytest.param("pa:squared", {"epochs": 3}, marks=pytest.mark.exhaustive),
    pytest.param("trees", {}, marks=pytest.mark.exhaustive),
    pytest.param("ensemble", {}, marks=pytest.mark.exhaustive),
]


@pytest.mark.parametrize(("model", "options"), MODELS)
def test_the_rows_of_training_are_known_in_any_form_and_new_ones_are_not(
    model, options, files, tables
):
    old, new = tables
    train(files / "old.csv", "y", model=model, output=files / "m.st", **options)
    for rows in (files / "old.csv", files / "old.parquet", old, old.to_pandas(), old[::-1][:90]):
        assert learned_share(files / "m.st", rows) == 1.0
    assert learned_share(files / "m.st", new) == 0.0
    assert learned_share(files / "m.st", files / "half.parquet") == pytest.approx(0.5, abs=0.1)
    assert learned_share(files / "m.st", new[:3]) is None


def test_the_rows_that_a_server_has_taught_are_known(tables, tmp_path, capsys):
    """By the file of GET /model, that of replay, and those of challengers and snapshots."""
    first, taught, new = tables[0], tables[1].drop(["a__when"])[:400], tables[1][400:]
    train(first.drop(["a__when"]), "y", model="arow", in_order=True, output=tmp_path / "m.st")
    rows = taught.drop(["y"]).to_pylist()
    pairs = [{"row": x, "label": y} for x, y in zip(rows, taught["y"].to_pylist(), strict=True)]
    folder, now = tmp_path / "d", tmp_path / "now.st"
    with serving(folder, tmp_path / "m.st") as server:
        for one in pairs[:3]:
            server.post("/learn", one)
        server.post("/learn", pairs[3:350])
        server.learned()
    with serving(folder) as server:  # it goes on from a snapshot
        server.post("/learn", pairs[350:])
        server.learned()
        now.write_bytes(server.http.get("/model").content)
    status, *_ = run(capsys, "replay", folder, "-o", tmp_path / "end.st")
    assert status == 0
    assert (tmp_path / "end.st").read_bytes() == now.read_bytes()
    for source in (folder, taught, first):
        assert learned_share(now, source) == 1.0
    assert not learned_share(now, new)


def test_a_table_of_few_kinds_of_rows_says_nothing(tmp_path):
    rng = np.random.default_rng(0)
    both = [
        pa.table({"c": rng.choice(["r", "g", "b"], 400), "y": rng.choice(["u", "v"], 400)})
        for _ in range(2)
    ]
    trained = train(both[0], "y", model="arow")
    assert [learned_share(trained, table) for table in both] == [0.0, 0.0]


def test_rows_of_views_and_of_their_files(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 6)).round(3) * (rng.random((400, 6)) < 0.7)
    y = np.where(x[:, 0] + x[:, 4] + rng.normal(size=400) > 0, 1, -1)
    views = MultiView({"a": x[:, :3], "b": x[:, 3:]})
    trained = train(views[:200], y[:200], model="arow")
    assert learned_share(trained, views[:200], y[:200]) == 1.0
    assert learned_share(trained, views[200:], y[200:]) == 0.0
    for end, write in (
        ("svm", lambda c, value: f"{c + 1}:{value}"),
        ("vw", lambda c, value: f"{'|a ' * (c == 0)}{'|b ' * (c == 3)}w{c}:{value}"),
    ):
        for name, part in (("old", slice(200)), ("new", slice(200, None))):
            rows = zip(x[part], y[part], strict=True)
            lines = [
                f"{label} {' '.join(write(c, v) for c, v in enumerate(row.tolist()))}"
                for row, label in rows
            ]
            (tmp_path / f"{name}.{end}").write_text("\n".join(lines) + "\n")
        given = {"views": {"a": ["1:3"], "b": ["4:6"]}} if end == "svm" else {}
        for model in ("arow", "view:b", "svmperf"):
            train(tmp_path / f"old.{end}", model=model, output=tmp_path / "m.st", **given)
            assert learned_share(tmp_path / "m.st", tmp_path / f"old.{end}") == 1.0
            assert learned_share(tmp_path / "m.st", tmp_path / f"new.{end}") == 0.0


def test_views_of_several_files(tmp_path, tables):
    for table, name in zip(tables, ("old", "new"), strict=True):
        table = table.append_column("id", pa.array(np.arange(600)))
        pa_csv.write_csv(table.select(["id", "a__x", "y"]), tmp_path / f"{name}-a.csv")
        pa_csv.write_csv(table[::-1].select(["id", "b__z"]), tmp_path / f"{name}-b.csv")
    old, new = (
        {"a": tmp_path / f"{name}-a.csv", "b": tmp_path / f"{name}-b.csv"}
        for name in ("old", "new")
    )
    train(old, "y", on="id", model="arow", output=tmp_path / "m.st")
    assert learned_share(tmp_path / "m.st", old, on="id") == 1.0
    assert learned_share(tmp_path / "m.st", new, on="id") == 0.0


def test_a_model_that_goes_on_knows_both(tables, tmp_path):
    old, new = tables
    given = {"model": "arow", "in_order": True}
    first = train(old, "y", output=tmp_path / "first.st", **given)
    both = train(new, init=tmp_path / "first.st", in_order=True)
    assert both.row_sketch == train(pa.concat_tables(tables), "y", **given).row_sketch
    assert both.row_sketch != first.row_sketch
    assert train(old, "y", model="arow", seed=3).row_sketch == first.row_sketch
    assert learned_share(both, old) == learned_share(both, new) == 1.0
    again = train(old, init=first)
    assert (learned_share(again, old), learned_share(again, new)) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("model", "settings", "share"),
    [("trees", {"max_iter": 20}, 0.0), ("keco", {}, 1.0), ("keco", {"schedule": "stream"}, 1.0)],
)
def test_rows_without_a_label_are_learned_by_some_models(model, settings, share, tables):
    old = tables[0].to_pandas()
    some = old.copy()
    some.loc[some.index[300:], "y"] = None
    trained = train(some, "y", model=model, settings=settings)
    assert (trained.skipped, trained.unlabeled) == ((0, 300) if share else (300, 0))
    assert learned_share(trained, old[:300]) == 1.0
    assert learned_share(trained, old[300:]) == share


def test_the_command_says_it_on_stderr_in_json_and_on_the_page(files, capsys):
    model, found, page = files / "m.st", files / "e.json", files / "e.html"
    assert (
        run(capsys, "train", files / "old.csv", "--label", "y", "--model", "arow", "-o", model)[0]
        == 0
    )
    asked = "--no-views", "--json", found, "--report", page
    status, out, err = run(capsys, "evaluate", model, files / "old.parquet", *asked)
    assert status == 0
    lines = [line for line in err if WORDS in line]
    assert len(lines) == 1
    assert lines[0].startswith("crossview: warning: 100% of the rows are equal to")
    assert not any(WORDS in line for line in out)
    content = json.loads(found.read_text())
    assert content["learned"] == 1.0
    assert [line for line in content["warnings"] if WORDS in line] == [
        lines[0].removeprefix("crossview: warning: ")
    ]
    assert page.read_text().count(WORDS) == 1
    status, _, err = run(capsys, "evaluate", model, files / "new.csv", *asked)
    assert status == 0
    assert not any(WORDS in line for line in err)
    assert json.loads(found.read_text())["learned"] == 0.0
    assert WORDS not in page.read_text()
    text = "\n".join(run(capsys, "inspect", model)[1])
    assert read_info(model)["row_sketch"]["hashes"][:20] not in text


def test_rows_that_a_server_has_taught_are_not_known(tables, tmp_path):
    old, new = tables
    trained = train(old, "y", model="arow", output=tmp_path / "m.st")
    assert learned_share(tmp_path / "m.st", new) == 0.0
    info = {**read_info(tmp_path / "m.st"), "served": {"labels": 5}}
    save(trained.fitted, tmp_path / "served.st", info=info)
    assert learned_share(tmp_path / "served.st", new) is None
    assert learned_share(tmp_path / "served.st", old) == 1.0


def test_a_damaged_sketch_is_a_damaged_file_and_a_file_without_one_is_read(tables, tmp_path):
    old, _ = tables
    trained, path = train(old, "y", model="arow"), tmp_path / "m.st"
    sketch = trained.row_sketch
    for wrong in ("text", {"hashes": sketch["hashes"]}, sketch | {"counts": [1]}):
        save(trained.fitted, path, info=trained.info | {"row_sketch": wrong})
        with pytest.raises(InputError, match=r"m\.st: is a damaged model file"):
            evaluate(path, old)
    known = {name: value for name, value in trained.info.items() if name != "row_sketch"}
    save(trained.fitted, path, info=known, progress=trained.progress)
    assert learned_share(path, old) is None
    assert train(old, init=path).rows == 1200
    assert crossview.load(path).predict(old[:1]).tolist()
