"""The catalog is light, and what its entries declare is true."""

import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import is_regressor

import crossview
from crossview import InputError, catalog
from crossview.catalog.__main__ import stub
from crossview.catalog.learner import OF_COMPARE
from crossview.catalog.learners import LEARNERS, find_learner, known_learners, model_names
from crossview.catalog.metrics import METRICS
from crossview.catalog.names import TASKS, load_object
from crossview.catalog.readers import READERS

ROOT = Path(__file__).parents[2]
IDS = [f"{entry.task}-{entry.name}" for entry in LEARNERS]


def test_it_loads_nothing_heavy():
    code = (
        "import sys, crossview, crossview.catalog.metrics, crossview.catalog.readers\n"
        "heavy = {'numba', 'sklearn', 'pyarrow', 'duckdb', 'scipy', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("entry", LEARNERS, ids=IDS)
def test_what_an_entry_declares_is_true(entry):
    entry = entry.for_views(["a", "b"])
    learner = load_object(entry.path)
    parameters = set(inspect.signature(learner).parameters)
    assert entry.streams == hasattr(learner, "partial_fit")
    assert entry.random == ("random_state" in parameters)
    assert entry.draws_rows == ("n_iterations" in parameters)
    assert entry.stops_early == ("early_stopping" in parameters)
    if entry.trained_for_metric:
        assert {"measure", "k", "pos_label"} <= parameters
    agrees = entry.fixed.get("disagreement", 1.0) > 0.0
    assert entry.learns_unlabeled == (agrees and learns_unlabeled(learner))
    assert (entry.task == "classification") == hasattr(learner(), "predict_proba")
    assert (entry.explained_by == "interactions") == hasattr(learner, "interactions")
    named = {*entry.fixed, *entry.grid, *entry.settable, *entry.tuning_params, *entry.refined}
    named |= {*entry.stream_params, *entry.memory_params, *entry.bounded_by}
    if "epochs" in entry.refined:
        assert entry.passes(3) == {"n_epochs": 3}
    assert named - set(OF_COMPARE) <= parameters
    assert (entry.task == "regression") == is_regressor(learner())
    for other in (entry.measured_against, entry.cheaper):
        assert other is None or find_learner(other, entry.task, ["a"])
    assert not entry.quadratic or entry.cheaper or entry.compared == "never"
    assert {*entry.compared.split(", ")} <= {"always", "metric", "narrow", "unlabeled", "never"}


def learns_unlabeled(learner):
    """Whether an unlabeled row is taken."""
    X = np.random.default_rng(0).normal(size=(8, 4))
    y = np.array([0, 1, 0, 1, 0, 1, None, None], dtype=object)
    try:
        learner(views=[2, 2]).fit(X, y)
    except (TypeError, ValueError):
        return False
    return learner.__name__ != "PegasosClassifier"  # which leaves it out


@pytest.mark.parametrize("entry", LEARNERS, ids=IDS)
def test_every_entry_makes_its_learner_from_its_grid(entry):
    entry = entry.for_views(["a", "b"])
    for candidate in entry.candidates():
        assert entry.make(**candidate).get_params().items() >= candidate.items()
    assert set(entry.grid) <= set(entry.parameters())
    assert not set(entry.fixed) & set(entry.parameters())
    learner = getattr(crossview, entry.class_name)
    assert f"{learner.__module__}:{learner.__name__}" == entry.path
    assert catalog.saved_classes()[entry.class_name] == learner.__module__


def test_names_are_a_family_and_a_variant_and_each_is_there_once():
    for task in TASKS:
        names = [entry.name for entry in known_learners(task, ["page", "link"])]
        assert len(set(names)) == len(names)
        assert {"view:page", "view:link"} <= set(names)
    families = {name.partition(":")[0] for name in model_names()}
    assert all(name.count(":") <= 1 for name in model_names())
    assert "pa" in families


def test_a_view_alone_is_a_model():
    entry = find_learner("view:page", "classification", ["page", "link"])
    assert (entry.view, entry.title) == ("page", "page alone")
    with pytest.raises(InputError, match=r"no model 'view:pag'; did you mean 'view:page'\?"):
        find_learner("view:pag", "classification", ["page", "link"])
    linear = find_learner("linear", "regression", ["page", "link"])
    assert linear.fixed == {"groups": [["page"], ["link"]]}


@pytest.mark.parametrize("metric", METRICS.values(), ids=list(METRICS))
def test_every_metric_has_its_function(metric):
    function = metric.function()
    n_arguments = {"decision": 1, "order": 3, "probability": 2, "calibration": 3}
    n_arguments |= {"error": 2, "explained": 2, "place": 1}
    n_own = {"f_beta": 1, "cost": 2}.get(metric.name, int(metric.takes_k))
    assert len(inspect.signature(function).parameters) == n_arguments[metric.kind] + n_own
    assert metric.scope in ("class", "classes", "rows")
    shares = ("decision", "order", "place", "explained")
    losses = metric.kind not in shares or metric.name == "cost"
    assert metric.higher_is_better != losses


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_every_reader_has_its_class(reader):
    source = load_object(reader.path)
    expected = (
        ["self", "batch_rows"] if reader.kind == "sparse" else ["self", "columns", "batch_rows"]
    )
    assert list(inspect.signature(source.batches).parameters) == expected


# --- public names -----------------------------------------------------------------


def test_type_checkers_see_every_public_name():
    written = (ROOT / "src" / "crossview" / "__init__.pyi").read_text(encoding="utf-8")
    assert written == stub(), "run: python -m crossview.catalog"


PROGRAM = """
import numpy as np

import crossview
from crossview import MultiView, MultiViewPAClassifier, compare, train

X = MultiView({"a": np.eye(4), "b": np.eye(4)})
reveal_type(MultiViewPAClassifier(C=0.1).fit(X, [0, 1, 0, 1]))
reveal_type(compare(X, [0, 1, 0, 1]).verdict)
reveal_type(train(X, [0, 1, 0, 1], model="arow").rows)
reveal_type(crossview.open_table("t.parquet"))
crossview.Perceptron(D=1)
crossview.NoSuchThing
"""


@pytest.mark.exhaustive  # `make types` reads tests/user_program.py
def test_a_users_mypy_sees_the_types(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(PROGRAM)
    # the cache of `make types` saves reading the package again
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file",
        str(ROOT / "pyproject.toml"),
    ]
    done = subprocess.run(
        [*command, str(tmp_path / "program.py")], capture_output=True, text=True, cwd=ROOT
    )
    lines = [line.partition(": ")[2] for line in done.stdout.splitlines() if "program.py" in line]
    assert lines[:4] == [
        'note: Revealed type is "crossview.estimators.coupled.MultiViewPAClassifier"',
        'note: Revealed type is "list[str]"',
        'note: Revealed type is "int"',
        'note: Revealed type is "crossview.readers.source.Source"',
    ]
    assert 'Unexpected keyword argument "D" for "Perceptron"' in lines[4]
    assert 'Module has no attribute "NoSuchThing"' in lines[-1]
