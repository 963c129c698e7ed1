"""The parts of the site that `make docs` does not check by building it."""

import ast
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import typer

import crossview
from crossview import datasets
from crossview.catalog.learners import LEARNERS
from crossview.cli.app import app

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS))

import check  # noqa: E402
import pages  # noqa: E402

PAGES = [p for p in sorted(DOCS.rglob("*.md")) if not p.relative_to(DOCS).parts[0].startswith("_")]
PAPERS = [p for p in sorted(DOCS.glob("papers/*.md")) if pages.TEST.search(p.read_text())]
SCRIPTS = sorted([*DOCS.glob("gallery/*.py"), *DOCS.glob("tutorials/*.py")])


def test_what_is_wrong_with_a_site_is_found(tmp_path):
    (tmp_path / "page.html").write_text(
        '<h1 id="top"></h1><a href="#top"></a><a href="other.html#part"></a><a href="#bottom"></a>'
        '<a href="none.html"></a><a href="https://example.org/x"></a><a href="https:///x"></a>'
        '<script src="https://cdn.example.org/x.js"></script><img src="data:image/png;base64,x">'
        '<link rel="stylesheet" href="site.css"><link rel="canonical" href="https://example.org/">'
    )
    (tmp_path / "other.html").write_text('<section id="part"></section>')
    (tmp_path / "site.css").write_text("@import url(https://fonts.example.org/x.css);")
    assert sorted(set(check.problems(tmp_path))) == [
        "page.html: loads https://cdn.example.org/x.js",
        "page.html: no address: https:///x",
        "page.html: no file: none.html",
        "page.html: no such anchor: #bottom",
        "site.css: loads from elsewhere",
    ]


def test_every_command_and_option_is_in_the_reference():
    text = pages.commands()
    for name, command in typer.main.get_command(app).commands.items():
        part = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        for parameter in command.params:
            for option in parameter.opts:
                if option.startswith("--") and option != "--help":
                    assert re.search(rf"^.*`{option}[ `]", part, re.MULTILINE), (name, option)


def test_every_public_name_is_in_the_reference_once():
    names = re.findall(r"^   (crossview\.\w+)$", pages.api(), re.MULTILINE)
    assert sorted(names) == [f"crossview.{n}" for n in crossview.__all__ if n != "__version__"]


def test_every_learner_and_data_set_is_in_its_table():
    assert all(f"| `{one.name}` |" in pages.learners() for one in LEARNERS)
    assert all(f"[{one.name}]({one.page})" in pages.data_sets() for one in datasets.known())


@pytest.mark.parametrize("page", PAPERS, ids=lambda page: page.stem)
def test_code_and_tests_are_beside_each_equation(page):
    text = page.read_text()
    beside = pages.code_beside(text)
    shown = set(re.findall(r"literalinclude\} /\.\./([\w/.]+)\n:pyobject: (\w+)", beside))
    tests = {one for row in pages.ROW.finditer(text) for one in pages.TEST.findall(row["tests"])}
    assert tests <= shown
    for file, name in shown:
        tree = ast.parse((DOCS.parent / file).read_text())
        assert name in {getattr(node, "name", None) for node in ast.walk(tree)}, (file, name)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_pictures_and_tutorials_have_a_title_a_text_and_fixed_seeds(script):
    source = script.read_text()
    title, line, *text = ast.get_docstring(ast.parse(source)).splitlines()
    assert set(line) == {"="}
    assert len(title) == len(line)
    assert len(" ".join(text)) > 60
    assert "default_rng()" not in source
    assert "np.random.seed" not in source
    if script.parent.name == "gallery":
        assert source.rstrip().endswith("plt.show()")
        assert re.search("Display|[.]plot[(][)]|title=|set_title", source.split('"""', 2)[2])


def test_the_gallery_has_twelve_pictures():
    assert len(list(DOCS.glob("gallery/*.py"))) >= 12


def test_pages_of_papers_have_tables_of_code_and_tests():
    assert len(PAPERS) >= 14


@pytest.mark.parametrize("document", PAGES, ids=lambda one: one.stem)
def test_links_to_elsewhere_are_addresses(document):
    for target in re.findall(r"\]\((https?:[^)\s]+)\)", document.read_text()):
        parts = urlsplit(target)
        assert parts.scheme == "https" or "ucd.ie" in parts.netloc, target
        assert "." in parts.netloc, target
