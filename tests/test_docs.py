"""What the documents say is true: examples run, names exist, docstrings are complete."""

import doctest
import importlib
import inspect
import re
import shlex
import warnings
from pathlib import Path

import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate
from sklearn.datasets import make_classification

import crossview
from command_line import run
from comparisons import AS_IN_USE, models_have
from contract.instances import public_learners
from crossview import datasets
from shared_data import folder as shared

ROOT = Path(__file__).parents[1]
WITH_EXAMPLES = [
    path.relative_to(ROOT / "src")
    .with_suffix("")
    .as_posix()
    .replace("/", ".")
    .removesuffix(".__init__")
    for path in sorted((ROOT / "src" / "crossview").rglob("*.py"))
    if ">>>" in path.read_text()
]
DOCUMENTS = [
    str(p.relative_to(ROOT))
    for p in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/[!_]*/*.md")])
]
PUBLIC = [name for name in crossview.__all__ if name != "__version__"]

# what numpydoc asks for and we leave out, and why
LEFT_OUT = {
    "ES01": "the summary is often all there is to say",
    "SA01": "See Also where there is something to see",
    "SA04": "a See Also entry may be only a name",
    "EX01": "checked below: classes and functions have examples, methods need none",
    "GL01": "summaries begin on the first line, as ruff wants it",
    "GL08": "checked by ruff",
    "SS06": "a summary may run over a line",
    "SS05": "summaries may begin with a noun",
    "SS03": "a summary may end in a formula",
    "RT02": "return values have names and types",
    "PR01": "checked below by name and default",
    "PR06": "bool, str and int are called so",
    "PR08": "a description may begin with a name",
    "PR09": "a description may end in a formula",
    "RT04": "the same for return values",
    "RT05": "the same for return values",
    "YD01": "generators have Yields",
    "PR02": "the parameters of a lazily resolved class are its __init__'s",
}


def blocks(document, language):
    text = (ROOT / document).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_in_docstrings_run(name):
    if name.startswith("crossview.compat."):
        pytest.importorskip(name, reason="the other library is not installed", exc_type=ImportError)
    with models_have(AS_IN_USE):  # whose numbers are shown
        results = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert results.failed == 0
    assert results.attempted


def members(name):
    thing = getattr(crossview, name)
    yield f"{thing.__module__}.{name}"
    if isinstance(thing, type):
        for method in vars(thing):
            if not method.startswith("_") and callable(getattr(thing, method)):
                yield f"{thing.__module__}.{name}.{method}"


@pytest.mark.parametrize(
    "name",
    [m for public in PUBLIC for m in members(public)]
    + [f"crossview.datasets.{public}" for public in datasets.__all__],
)
def test_docstrings_are_complete(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpydoc warns of sections it does not know
        result = validate(name)
    errors = [error for error in result["errors"] if error[0] not in LEFT_OUT]
    assert not errors, errors


@pytest.mark.parametrize("name", PUBLIC)
def test_public_classes_and_functions_have_an_example(name):
    thing = getattr(crossview, name)
    if isinstance(thing, type) and issubclass(thing, Exception):
        return
    assert ">>>" in inspect.getdoc(thing)


@pytest.mark.parametrize("name", PUBLIC)
def test_each_parameter_is_documented_once_with_its_default(name):
    thing = getattr(crossview, name)
    if isinstance(thing, type) and issubclass(thing, Exception):
        return
    documented = {}
    for entry in NumpyDocString(inspect.getdoc(thing))["Parameters"]:
        assert "".join(entry.desc).strip(), f"{entry.name} has no description"
        for one in entry.name.replace("*", "").split(", "):
            assert one not in documented, f"{one} is documented twice"
            documented[one] = entry.type
    parameters = inspect.signature(thing).parameters
    assert list(documented) == list(parameters)
    for one, parameter in parameters.items():
        _, found, default = documented[one].partition("default=")
        if parameter.default is inspect.Parameter.empty:
            assert not found, f"{one} has no default"
        else:
            value = eval(default)  # such as 2**-14
            assert (value, type(value)) == (parameter.default, type(parameter.default)), one


@pytest.mark.parametrize(
    "document", [d for d in DOCUMENTS if d != "CONTRIBUTING.md" and blocks(d, "python")]
)
def test_python_programs_in_documents_run(document, tmp_path, monkeypatch):
    """Those of CONTRIBUTING.md add learners, metrics and readers; they have a test of their own."""
    monkeypatch.chdir(tmp_path)
    for program in blocks(document, "python"):
        exec(compile(program, document, "exec"), {"__name__": "document"})


def test_the_program_in_the_readme_has_at_most_twelve_lines():
    first = blocks("README.md", "python")[0]
    assert len([line for line in first.splitlines() if line.strip()]) <= 12


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_inside_the_project_lead_somewhere(document):
    text = (ROOT / document).read_text()
    for target in re.findall(r"\]\((?!https?:|mailto:)([^)#]+)", text):
        if target.startswith("_generated/"):
            continue  # `make docs` writes and checks it
        assert ((ROOT / document).parent / target).exists(), target


@pytest.mark.parametrize("document", [d for d in DOCUMENTS if d != "CHANGELOG.md"])
def test_files_and_make_targets_in_documents_exist(document):
    text = (ROOT / document).read_text()
    paths = re.findall(r"`((?:src|tests|docs|examples|benchmarks)/[\w./-]+)", text)
    missing = [path for path in paths if not (ROOT / path).exists()]
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"(?:^|`)make ([\w-]+)", text, re.MULTILINE)
    missing += [t for t in targets if not re.search(rf"^{t}:", makefile, re.MULTILINE)]
    assert not missing


def test_the_guide_names_the_learners_that_need_all_rows():
    text = (ROOT / "docs/guide/python.md").read_text()
    text = text.partition("all have `partial_fit` but")[2].partition("They take")[0]
    named = tuple(re.findall(r"`([A-Z]\w+)(?:\.\.\.)?`", text))
    learners = {one.__name__: one for one in public_learners()}
    found = {name for name, one in learners.items() if not hasattr(one(), "partial_fit")}
    assert {name for name in learners if name.startswith(named)} == found


@pytest.mark.parametrize(("C", "plain", "balanced"), [(1.0, 0.012, 0.013), (0.01, 0.0, 0.23)])
def test_what_class_weights_do_to_bounded_steps_is_as_the_guide_says(C, plain, balanced):
    given = {"n_samples": 3000, "n_features": 8, "weights": [0.95], "flip_y": 0.05}
    X, y = make_classification(**given, random_state=3)
    for class_weight, share in ((None, plain), ("balanced", balanced)):
        learner = crossview.MultiViewPAClassifier(
            C=C, average=True, class_weight=class_weight, random_state=0
        )
        assert learner.fit(X, y).predict(X).mean() == pytest.approx(share, abs=0.005)


def test_every_name_in_the_papers_table_exists():
    """docs/papers/: paper equation -> function -> test."""
    text = "\n".join(page.read_text() for page in (ROOT / "docs" / "papers").glob("*.md"))
    names = re.findall(r"`(crossview\.[\w.]+)`", text)
    assert len(names) > 10
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name
    tests = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len(tests) > 10
    for file, function in tests:
        assert f"def {function}(" in (ROOT / file).read_text(), (file, function)


def test_every_name_in_the_glossary_is_in_the_code():
    rows = re.findall(r"^\|.*\|$", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)
    names = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert len(names) > 30
    source = "\n".join(p.read_text() for p in (ROOT / "src" / "crossview").rglob("*.py"))
    known = set(re.findall(r"\w+", source))
    assert not names - known


def test_the_commands_on_later_rows_print_what_the_guide_says(tmp_path, monkeypatch, capsys):
    """After the command of docs/guide/numbers.md that makes their table."""
    monkeypatch.setenv("CROSSVIEW_DATA", str(shared("movielens_100k").parent))
    monkeypatch.chdir(tmp_path)
    first = blocks("docs/guide/numbers.md", "console")[0].splitlines()[0]
    (later,) = blocks("docs/guide/later-rows.md", "console")
    lines = later.replace("\\\n", " ").splitlines()
    for command in [first, *(line for line in lines if line.startswith("$ "))]:
        name, *argv = shlex.split(command.removeprefix("$ "))
        assert name == "crossview"
        status, out, err = run(capsys, *argv)
        assert status == 0, err
    said = [line for line in lines if not line.startswith("$ ")]
    assert " ".join(out).split() == " ".join(said).split()
