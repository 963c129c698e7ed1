"""What the documents say is true: examples run, names exist, docstrings are complete."""

import doctest
import importlib
import inspect
import pkgutil
import re
import warnings
from pathlib import Path

import pytest
from numpydoc.validate import validate

import crossview

ROOT = Path(__file__).parents[1]
MODULES = ["crossview"] + [
    module.name
    for module in pkgutil.walk_packages(crossview.__path__, "crossview.")
    if not module.name.endswith("__main__")
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
    "PR01": "checked below by name, for classes whose parameters are in the class",
    "PR06": "bool, str and int are called so",
    "PR08": "a description may begin with a name",
    "PR09": "a description may end in a formula",
    "RT04": "the same for return values",
    "RT05": "the same for return values",
    "YD01": "generators have Yields",
    "PR02": "the parameters of a lazily resolved class are its __init__'s",
}


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


def members(name):
    thing = getattr(crossview, name)
    yield f"{thing.__module__}.{name}"
    if isinstance(thing, type):
        for method in vars(thing):
            if not method.startswith("_") and callable(getattr(thing, method)):
                yield f"{thing.__module__}.{name}.{method}"


@pytest.mark.parametrize("name", [m for public in PUBLIC for m in members(public)])
def test_docstrings_are_complete(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpydoc warns of sections it does not know
        result = validate(name)
    errors = [error for error in result["errors"] if error[0] not in LEFT_OUT]
    assert not errors, errors


@pytest.mark.parametrize("name", PUBLIC)
def test_public_classes_and_functions_have_an_example_and_all_parameters(name):
    thing = getattr(crossview, name)
    text = inspect.getdoc(thing)  # Python 3.13 keeps docstrings without their indentation
    if not issubclass(thing, Exception) if isinstance(thing, type) else True:
        assert ">>>" in text or name in ("read_info",), f"{name} has no example"
    if isinstance(thing, type) and hasattr(thing, "get_params"):
        for parameter in thing._get_param_names():
            assert re.search(rf"^(?:\w+, )*{parameter}(?:, \w+)* : ", text, re.MULTILINE), parameter


def blocks(document, language):
    text = (ROOT / document).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_readme_runs(tmp_path, monkeypatch):
    programs = blocks("README.md", "python")
    assert programs
    monkeypatch.chdir(tmp_path)
    for program in programs:
        exec(compile(program, "README.md", "exec"), {"__name__": "readme"})


def test_the_program_in_the_readme_has_twelve_lines():
    first = blocks("README.md", "python")[0]
    assert len([line for line in first.splitlines() if line.strip()]) <= 12


@pytest.mark.parametrize(
    "document", ["README.md", *[f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md")]]
)
def test_links_inside_the_project_lead_somewhere(document):
    text = (ROOT / document).read_text()
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert ((ROOT / document).parent / target).exists(), target


def test_every_name_in_the_papers_table_exists():
    """docs/papers.md: paper equation -> function -> test."""
    text = (ROOT / "docs" / "papers.md").read_text()
    names = re.findall(r"`(crossview\.[\w.]+)`", text)
    assert len(names) > 10
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name
    tests = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len(tests) > 10
    for file, function in tests:
        assert f"def {function}(" in (ROOT / file).read_text(), (file, function)
