"""The page of a result: all of it is there, and nothing in it comes from elsewhere or runs."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from crossview.evaluation.diagnostics import StrongInteraction
from crossview.report.notebook import notebook_html
from crossview.report.page.write import report_html

SECTIONS = {
    "folds": "models worth data rows shares differences predictions columns made",
    "stream": "models data rows shares differences predictions columns made",
    "three": "models worth data rows shares differences predictions columns made",
    "number": "models worth data rows shares differences predictions columns made",
    "trained": "errors experts shares data differences predictions columns model made",
    "evaluated": "metrics worth time drift data predictions shares experts differences columns "
    "model made",
}
FIGURES = {"folds": 9, "stream": 8, "three": 6, "number": 4, "trained": 8, "evaluated": 9}
VOID = {"meta", "link", "br", "path", "use", "rect", "image", "stop"}


class Outline(HTMLParser):
    """Tags, their attributes, and the text of a page; an unbalanced tag is an error."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.open, self.words = [], [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    def all(self, *names):
        return [attributes for tag, attributes in self.tags if tag in names]


@pytest.mark.parametrize("kind", SECTIONS)
def test_a_page_has_its_sections_and_pictures_and_is_whole(pages, kind):
    html = pages[kind]
    assert len(html.encode()) < 2_000_000
    outline = Outline(html)
    assert [one["id"] for one in outline.all("section")] == SECTIONS[kind].split()
    assert {one["href"] for one in outline.all("a")} == {
        f"#{one}" for one in SECTIONS[kind].split()
    }
    assert len(outline.all("h1")) == 1
    assert dict(outline.tags[0][1]) == {"lang": "en"}
    pictures = outline.all("svg")
    assert len(pictures) == len(outline.all("figure")) == FIGURES[kind]
    assert all(one["role"] == "img" and len(one["aria-label"]) > 20 for one in pictures)
    ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert all(one.get("scope") in ("col", "row") for one in outline.all("th"))
    words = "".join(outline.words)
    assert "crossview compare 'a<b>.csv'" in words
    assert "nan" not in re.findall(r"\w+", words.lower())


@pytest.mark.parametrize("kind", SECTIONS)
def test_nothing_comes_from_elsewhere_and_names_stay_text(pages, kind):
    outline = Outline(pages[kind])
    assert not outline.all("script", "i", "iframe", "img", "object")
    for _, attributes in outline.tags:
        assert not any(name.startswith("on") for name in attributes)
        for name in ("href", "src", "style"):
            value = attributes.get(name, "#")
            assert value.startswith(("#", "data:,")) or name == "style", value
            assert all(part.startswith("#") for part in re.findall(r"url\(([^)]*)", value))
    assert not re.search(r"@import|https?://(?!www\.w3\.org)", pages[kind])
    words = "".join(outline.words)
    if kind not in ("three", "number"):
        assert "<script>alert(1)</script>" in words
        assert 'yes "&$x^2$' in words
    assert "<i>answer</i>" in words or kind in ("trained", "evaluated")


@pytest.mark.parametrize("kind", ["folds", "stream", "number"])
def test_the_models_have_their_speeds(results, kind):
    answer = results[kind]
    rows = [replace(row, predicted_per_second=4321.0) for row in answer.rows]
    words = "".join(Outline(report_html(replace(answer, rows=rows))).words)
    assert "learned/s" in words
    assert ("4.3k" in words) == ("predicted/s" in words) == (kind != "stream")


@pytest.mark.parametrize("kind", ["number", "trained", "evaluated"])
def test_a_notebook_shows_the_answer_and_a_picture(results, kind):
    outline = Outline(results[kind]._repr_html_())
    assert len(outline.all("svg")) == len(outline.all("table")) == 1
    assert not outline.all("script")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("folds", ["over at most 300 of the rows held out of the first fold"]),
        ("stream", ["the last 27, scored before they were learned", "the last rows of the stream"]),
        ("number", ["strongest of 2 columns", "user__0 × item__1"]),
    ],
)
def test_a_comparison_names_columns_interactions_and_rows(results, kind, words):
    result = results[kind]
    if kind == "number":  # as a machine would have
        some = [StrongInteraction(["user__0", "item__1"], 0.5)]
        result = replace(result, diagnostics=replace(result.diagnostics, interactions=some))
    shown = " ".join("".join(Outline(report_html(result)).words).split())
    assert all(one in shown for one in words)
    assert "There was no time" not in shown


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"baseline": True}, "is a model of scikit-learn"),
        ({"model": "pegasos"}, "pegasos has a kernel"),
        ({}, "There was no time for the strongest columns"),
    ],
)
def test_a_page_says_why_there_are_no_columns(results, row, words):
    answer = results["three"]
    answer = replace(
        answer,
        rows=[replace(answer.recommended, **row)],
        diagnostics=replace(answer.diagnostics, columns=[]),
    )
    assert words in "".join(Outline(report_html(answer)).words)


def test_what_was_not_kept_is_said(results):
    html = report_html(replace(results["folds"], diagnostics=None))
    words = " ".join("".join(Outline(html).words).split())
    assert words.count("has not kept") == 4
    assert 'id="predictions-title"' in html  # the confusion matrix is there
    assert "<svg" in notebook_html(replace(results["folds"], diagnostics=None))
