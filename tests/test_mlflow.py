"""Models in MLflow: logged to a tracking store of its own, loaded, and scored by its interface."""

import decimal
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from crossview import InputError, Perceptron, ViewEncoder, datasets, load, predict, save, train

for name in ("mlflow", "sqlalchemy", "alembic"):
    pytest.importorskip(name, reason=f"{name} is not installed")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # those of MLflow about itself
    import mlflow
    import mlflow.pyfunc

    from crossview.compat import mlflow as flavor

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def table():
    rows = datasets.load("breast-cancer")
    n = len(rows)
    rows = rows.append_column(
        "mean__city", pa.array([["Oslo", "Rom", None][i % 3] for i in range(n)])
    )
    return rows.append_column("mean__ward", pa.array([i % 5 for i in range(n)]))


@pytest.fixture(scope="module")
def trained(table):
    encoder = ViewEncoder(categorical=["mean__ward"], hash_bits=8)
    return train(table, "diagnosis", model="pa:squared", encoder=encoder)


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    yield
    mlflow.set_tracking_uri(None)


def test_a_logged_model_scores_as_it_does_here(trained, table):
    with mlflow.start_run():
        logged = flavor.log_model(
            trained, "tumors", input_example=table.slice(0, 3), registered_model_name="tumors"
        )
    columns = [one.name for one in logged.signature.inputs.inputs]
    assert columns == list(trained.encoder.kinds())
    assert not any(one.required for one in logged.signature.inputs.inputs)
    outputs = [one.name for one in logged.signature.outputs.inputs]
    assert outputs == predict(trained, table.slice(0, 1)).column_names
    frame, whole = table.to_pandas(), predict(trained, table).to_pandas()
    scorer = mlflow.pyfunc.load_model(logged.model_uri)
    assert scorer.predict(frame).equals(whole)
    assert scorer.predict(scorer.input_example).equals(whole[:3])
    without = frame.drop(columns=[c for c in frame if c.startswith("worst__")])
    assert scorer.predict(without)["view_worst"].isna().all()
    again = flavor.load_model("models:/tumors/1")
    assert again.predict(table).tolist() == whole["prediction"].tolist()
    folder = mlflow.artifacts.download_artifacts(logged.model_uri)
    with open(f"{folder}/README.md") as card:
        assert "`diagnosis`, one of 2 classes" in card.read()
    with open(f"{folder}/requirements.txt") as needs:
        assert "\ncrossview[cli]==" in needs.read()


def test_a_file_is_saved_as_it_is_and_arrays_are_scored(trained, tmp_path):
    save(trained.fitted, tmp_path / "m.st", info=trained.info)
    flavor.save_model(tmp_path / "m.st", tmp_path / "a")
    assert (tmp_path / "a/data/model.safetensors").read_bytes() == (tmp_path / "m.st").read_bytes()
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = Perceptron(random_state=0).fit(X, X[:, 0] > 0)
    flavor.save_model(model, tmp_path / "b", input_example=X[:2])
    found = mlflow.pyfunc.load_model(str(tmp_path / "b")).predict(X)
    assert found.tolist() == model.predict(X).tolist()
    assert load(tmp_path / "b/data/model.safetensors").predict(X).tolist() == found.tolist()


def test_frames_that_predict_takes_are_scored(tmp_path):
    """Whole numbers, also with gaps, of Arrow, and decimals, also as an example."""
    prices = [None if i % 9 == 0 else decimal.Decimal(i % 7) / 4 for i in range(80)]
    columns = {"a__n": pa.array([None if i % 8 == 0 else i % 5 for i in range(80)])}
    columns["a__price"] = pa.array(prices, pa.decimal128(6, 2))
    words = pa.array([f"word {i % 3}" for i in range(80)])
    table = pa.table({**columns, "b__text": words, "y": [i % 5 > 1 for i in range(80)]})
    fitted = train(table, "y", model="pa:squared", encoder=ViewEncoder(text=["b__text"])).fitted
    flavor.save_model(fitted, tmp_path / "m", input_example=table.slice(0, 3))
    scorer = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    frames = [table.to_pandas(), table.to_pandas(types_mapper=pd.ArrowDtype)]
    for frame in [
        *frames,
        frames[0].convert_dtypes(),
        frames[0].fillna({"a__n": 1}).astype({"a__n": int}),
    ]:
        assert scorer.predict(frame).equals(predict(fitted, frame).to_pandas())
    assert len(scorer.predict(scorer.input_example)) == 3


@pytest.mark.parametrize("is_there", [False, True])
def test_a_folder_is_whole_or_not_there(trained, tmp_path, is_there):
    folder, wrong = tmp_path / "m", pd.DataFrame({"mean__radius": [object()]})
    if is_there:
        folder.mkdir()
    signature = mlflow.models.infer_signature(pd.DataFrame({"mean__radius": [1.0]}))
    with pytest.raises(TypeError):
        flavor.save_model(trained, folder, signature=signature, input_example=wrong)
    assert not folder.exists() or (is_there and not list(folder.iterdir()))
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine").touch()
    with pytest.raises(mlflow.MlflowException, match="not empty"):
        flavor.save_model(trained, tmp_path / "full")
    assert (tmp_path / "full/mine").exists()


def test_what_is_no_model_of_ours_is_refused(tmp_path, table):
    (tmp_path / "m.st").write_text("x")
    with pytest.raises(InputError, match="not a model file"):
        flavor.save_model(tmp_path / "m.st", tmp_path / "a")
    assert not (tmp_path / "a").exists()
    mlflow.pyfunc.save_model(
        tmp_path / "other", python_model=lambda model_input: model_input, pip_requirements=[]
    )
    with pytest.raises(InputError, match="holds no model of crossview, but of python_function"):
        flavor.load_model(tmp_path / "other")
