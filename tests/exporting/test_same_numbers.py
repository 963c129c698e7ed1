"""Exported models give the numbers of the model: every learner of the catalog, in each language.

A new learner is here without an entry; without a portable form it fails, and says its name.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from benchmarks.exported_models import (
    Case,
    cases,
    difference,
    encoder,
    expected,
    make_rows,
    targets,
)
from crossview import (
    FactorizationMachineClassifier,
    InputError,
    MultiViewKernelRidgeRegressor,
    Pipeline,
    ViewEncoder,
    export,
    train,
)
from crossview.estimators.base import ViewLearner
from crossview.exporting.checking import as_program
from crossview.exporting.plan import make_plan
from crossview.exporting.programs import minified, source_of
from crossview.tables.text import characters_of, word_analyzer

HERE = Path(__file__).parent
# of float64: what is left is the order of sums
TOLERANCE = 1e-9


@pytest.fixture(
    scope="module",
    params=["two or three classes", pytest.param("both", marks=pytest.mark.exhaustive)],
)
def all_cases(request):
    found = cases(both=request.param == "both")
    return [(case, make_plan(case.fitted), expected(case)) for case in found]


def in_node(folder, jobs):
    if shutil.which("node") is None:
        pytest.skip("node, which runs JavaScript, is not there")
    (folder / "module.mjs").write_text(minified(source_of("runtime.js")), encoding="utf-8")
    (folder / "jobs.json").write_text(json.dumps(jobs), encoding="utf-8")
    words = ["node", HERE / "run.mjs", folder / "module.mjs", folder / "jobs.json"]
    return json.loads(subprocess.run(words, check=True, capture_output=True).stdout)


def check(answers, case, there):
    largest, others = difference(answers, case, there)
    assert largest < TOLERANCE, (case.name, largest)
    assert not others, case.name


def test_python(all_cases):
    for case, plan, there in all_cases:
        program = as_program(plan)
        check([program.answer(row) for row in case.rows], case, there)


def test_javascript(all_cases, tmp_path):
    jobs = [{"description": plan.to_dict(), "rows": case.rows} for case, plan, _ in all_cases]
    found = in_node(tmp_path, jobs)
    for (case, _, there), answers in zip(all_cases, found, strict=True):
        check(answers, case, there)


def test_far_rows_of_a_kernel(tmp_path):
    """Its predictions have limits, which some of these rows reach."""
    rows, own = make_rows(80, 0, whole=True), encoder()
    X, y = own.fit_transform(pa.Table.from_pylist(rows)), targets(rows, "regression", 0)
    fitted = MultiViewKernelRidgeRegressor(random_state=0).fit(X, y)
    far = [row | {"age": 10.0 * k, "dim_0": k - 15.0} for k, row in enumerate(rows[:30])]
    case = Case("kernel-ridge", Pipeline([("encoder", own), ("model", fitted)]), far)
    there, plan = expected(case), make_plan(case.fitted)
    assert max(there[1]) == pytest.approx(y.max() + 0.1 * (y.max() - y.min()))
    check([as_program(plan).answer(row) for row in far], case, there)
    check(in_node(tmp_path, [{"description": plan.to_dict(), "rows": far}])[0], case, there)


def test_the_python_file_needs_nothing(all_cases, tmp_path):
    of_kind = {type(plan.model.scorer).__name__: (case, there) for case, plan, there in all_cases}
    assert set(of_kind) == {"ViewSum", "Machine", "Trees", "Networks", "Stack", "Blend"}
    for kind, (case, there) in of_kind.items():
        file = tmp_path / f"{kind}.py"
        exported = export(case.fitted, file)
        assert exported.difference.largest < TOLERANCE
        assert exported.n_bytes == file.stat().st_size
        lines = "".join(json.dumps(row) + "\n" for row in case.rows)
        words = [sys.executable, "-I", "-S", str(file)]
        ran = subprocess.run(words, input=lines.encode(), check=True, capture_output=True)
        check([json.loads(line) for line in ran.stdout.splitlines()], case, there)
        for wrong in ("{", '{"dim_0": "many"}'):
            ran = subprocess.run(words, input=f"\n{wrong}\n", capture_output=True, text=True)
            assert (ran.returncode, ran.stdout) == (1, "")
            assert ran.stderr.startswith("line 2: ")
            assert ran.stderr.count("\n") == 1


def test_what_explains_adds_up_for_linear_models(all_cases, tmp_path):
    case, plan, _ = next(one for one in all_cases if one[0].name.startswith("logistic"))
    (found,) = in_node(
        tmp_path, [{"description": plan.to_dict(), "rows": case.rows, "explain": True}]
    )
    learner = case.fitted[-1]
    X = case.fitted[0].transform(_table(case.rows))
    there = learner.contributions(X).sum(axis=1)
    for own, total in zip(found, there.tolist(), strict=True):
        assert sum(view["contribution"] for view in own["views"]) == pytest.approx(total)
        for view in own["views"]:
            if view["view"] == "dim":  # in the others columns share slots
                columns = sum(column["contribution"] for column in view["columns"])
                assert columns == pytest.approx(view["contribution"])


def test_terms_of_any_text(all_cases, tmp_path):
    """Characters of the first planes, between letters: words and sequences are the same."""
    plan = next(plan for case, plan, _ in all_cases if case.name.startswith("perceptron"))
    points = [*range(0x3400), *range(0x3400, 0xD800, 32), *range(0xE000, 0x20000, 16)]
    texts = [
        "".join(f"ab{chr(c)}cd{chr(c)} " for c in points[k : k + 2000])
        for k in range(0, len(points), 2000)
    ]
    rows = [{"msg": text} for text in texts]
    (found,) = in_node(tmp_path, [{"description": plan.to_dict(), "rows": rows, "explain": True}])
    unknown = 0
    for text, own in zip(texts, found, strict=True):
        columns = [column for view in own["views"] for column in view["columns"]]
        here = {one for column in columns for term in column["terms"] for one in term["terms"]}
        there = {*word_analyzer(1, 2)(text), *characters_of(text)}
        # Node and Python may know another edition of Unicode
        unknown += len(there ^ here) / len(there)
    assert unknown / len(texts) < 0.01


ODD = [
    ({"age": "old"}, "no"),
    ({"age": 1e300}, "too large"),
    ({"city": 5}, "no text"),
    ({"msg": 5}, "no text"),
    ({"since": "soon"}, "no date"),
    ({"since": "2024-02-30"}, "no date"),
    ({"vip": 7}, "neither true nor false"),
    ({"user": 3}, "is a view"),
    ({"user": ["Oslo"]}, "is a view"),
    ({"age": [5]}, "no number"),
    ({"city": ["Oslo"]}, "no text"),
    ({"since": ["2024-02-29"]}, "no date"),
    ({"age": {"v": 5}}, "give a number, text, a date"),
    ({"user": {"age": {"v": 5}}}, "give a number, text, a date"),
    ({"user": {"age": 3}, "age": -3}, "there twice"),
    ([], "a row is a"),
    (5, "a row is a"),
    (None, "a row is a"),
]
SAME = [
    {},
    {"user": None, "text": {"msg": None}},
    {"age": None, "unknown": 3},
    {"user": {"age": 31.5, "city": "Oslo"}, "text": {"msg": "free prize"}},
    {"age": 31, "since": " ", "vip": True, "text": {}},
    {"age": float("nan")},
    *({"vip": vip} for vip in (1, 0.0, "TRUE", "False", "1", "0.0", "maybe")),
    {"dim": {"dim_0": 1.0, "inner": {"dim_1": 2.0}}},
    {"since": "2024-02-29T23:59:59.1234565-11:30", "age": -0.0},
]


@pytest.mark.filterwarnings("ignore::crossview.UnusedColumnsWarning")
def test_odd_rows_are_refused_or_scored_alike(all_cases, tmp_path):
    case, plan, _ = next(one for one in all_cases if one[0].name.startswith("trees"))
    program = as_program(plan)
    rows = [{k: None if v != v else v for k, v in row.items()} for row in SAME]
    (found,) = in_node(
        tmp_path,
        [{"description": plan.to_dict(), "rows": rows + [row for row, _ in ODD]}],
    )
    for row, answer in zip(SAME, found, strict=False):
        there = list(case.fitted.predict_proba_one(row).values())
        assert list(program.predict_proba(row).values()) == pytest.approx(there, abs=1e-12)
        assert list(answer["probabilities"].values()) == pytest.approx(there, abs=1e-12)
    for (row, what), answer in zip(ODD, found[len(SAME) :], strict=True):
        with pytest.raises(InputError):
            case.fitted.predict_proba_one(row)
        with pytest.raises(ValueError, match=what):
            program.predict(row)
        assert what in answer["error"]


def test_a_whole_number_that_javascript_has_rounded_is_refused(tmp_path):
    """It is the name of another category, maybe; as text it is the one that is meant."""
    ids = [2**53 + 1, 2**53 + 3, 7] * 20
    table = pa.table({"v__id": ids, "u__x": list(range(60)), "y": [0, 1, 1] * 20})
    own = ViewEncoder(categorical=["v__id"])
    fitted = train(table, "y", model="logistic-regression", encoder=own).fitted
    rows = [{"v__id": 2**53 + 1}, {"v__id": str(2**53 + 1)}, {"v__id": 7}]
    (found,) = in_node(tmp_path, [{"description": make_plan(fitted).to_dict(), "rows": rows}])
    assert "give it as text" in found[0]["error"]
    assert '"v__id"' in found[0]["error"]
    for row, answer in zip(rows[1:], found[1:], strict=True):
        there = fitted.predict_proba_one(row)
        assert list(answer["probabilities"].values()) == pytest.approx(list(there.values()))


def test_a_learner_without_a_portable_form_is_named(tmp_path):
    class OddClassifier(FactorizationMachineClassifier):
        _portable_scorer = ViewLearner._portable_scorer

    rows = make_rows(20, 0, whole=True)
    fitted = Pipeline([("encoder", encoder()), ("model", OddClassifier(n_epochs=1))])
    fitted.fit(_table(rows), [0, 1] * 10)
    with pytest.raises(InputError, match="OddClassifier has no portable form"):
        export(fitted, tmp_path / "model.py")
    assert not list(tmp_path.iterdir())


def _table(rows):
    import pyarrow as pa

    from benchmarks.exported_models import SCHEMA

    return pa.Table.from_pylist(rows, schema=SCHEMA)


def test_the_scripts_of_the_page_share_no_name():
    """They are one module there."""
    declared = [
        set(re.findall(r"^(?:export )?(?:function|const|class|let) (\w+)", source_of(name), re.M))
        for name in ("runtime.js", "page.js")
    ]
    assert all(map(len, declared))
    assert not declared[0] & declared[1]


def test_rows_with_vectors_are_those_with_their_columns(tmp_path):
    rows = [
        {"post": {"words": [i / 7, 1.0, -i]}, "image": [i % 5, 2.0], "age": i} for i in range(60)
    ]
    fitted = train(
        pa.Table.from_pylist([row | {"y": i % 5 > 2} for i, row in enumerate(rows)]),
        "y",
        model="logistic-regression",
        encoder=ViewEncoder({"post": "post", "image": "image", "rest": "age"}),
    ).fitted
    missing = {"post__words__1": 1.0, "post": {"words__2": 3.0}, "image": None}
    good, plan = (
        [*rows[:5], {"post__words": [1.0, None, 2.0], "age": 3}, missing],
        make_plan(fitted),
    )
    wrong = [{"image": [1.0]}, {"post": {"words": [1.0]}}]
    jobs = [{"description": plan.to_dict(), "rows": good + wrong}]
    (found,), program = in_node(tmp_path, jobs), as_program(plan)
    for row, answer in zip(good, found, strict=False):
        there = list(fitted.predict_proba_one(row).values())
        assert list(program.predict_proba(row).values()) == pytest.approx(there, abs=1e-12)
        assert list(answer["probabilities"].values()) == pytest.approx(there, abs=1e-12)
    for row, answer in zip(wrong, found[len(good) :], strict=True):
        with pytest.raises(ValueError, match="is a vector of"):
            program.predict(row)
        with pytest.raises(InputError, match="is a vector of"):
            fitted.predict_one(row)
        assert "is a vector of" in answer["error"]
