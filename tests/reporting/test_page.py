"""The page of a result: all of it is there, and nothing in it comes from elsewhere or runs."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from comparisons import made_answer
from crossview.reporting.notebook import notebook_html
from crossview.reporting.page.sections import Made
from crossview.reporting.page.write import report_html
from crossview.scoring.diagnostics import StrongInteraction

SECTIONS = {
    "folds": "models worth rows predictions columns differences data made",
    "stream": "models worth rows predictions columns differences data made",
    "three": "models worth predictions columns differences data made",
    "number": "models worth predictions columns differences data made",
    "trained": "errors worth predictions columns differences experts data model made",
    "evaluated": "metrics worth time predictions columns differences experts data model made",
}
FIGURES = {"folds": 9, "stream": 8, "three": 5, "number": 3, "trained": 8, "evaluated": 9}
LINEAR, MAJORITY = "logistic-regression", "baseline:majority"
VOID = {"wbr", "meta", "link", "br", "path", "use", "rect", "image", "stop"}


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
    titles = [one["aria-labelledby"] for one in outline.all("section")]
    assert [one.removesuffix("-title") for one in titles] == SECTIONS[kind].split()
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
def test_a_page_advertises_no_option_and_is_guarded_by_a_content_policy(pages, kind):
    outline = Outline(pages[kind])
    policy = next(one["content"] for one in outline.all("meta") if "http-equiv" in one)
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:;")
    words = " ".join("".join(outline.words).split()).partition("How it was made")[0]
    for option in ("--time", "--progressive", "--ablate", "--report", "history=True"):
        assert option not in words
    assert "No calibration" not in words


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


def first_screen(html):
    """The words above the list of sections."""
    return " ".join("".join(Outline(html.partition("<nav")[0] + "</body></html>").words).split())


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


def test_the_first_screen_has_an_answer_with_its_doubt_three_bars_and_what_to_do():
    scores = {"arow": [0.80, 0.83, 0.81], LINEAR: [0.80, 0.82, 0.81], MAJORITY: [0.5, 0.5, 0.5]}
    others = ("perceptron", "pam", "cw", "scw", "sop", "stacking", "view:a", "view:b")
    answer = made_answer(scores | {key: [0.5, 0.6, 0.5] for key in others})
    train = "crossview train 'my file.csv' --label y -o MODEL"
    html = report_html(answer, Made(source="my file.csv", label="y", train=train))
    words = first_screen(html)
    value = f"{answer.recommended.value:.4f}"
    low, high = (f"{end:.4f}" for end in answer.expected.interval)
    assert (
        f"is recommended: f1 of 'yes' {value} (on new rows {low} to {high}, 95 % interval)" in words
    )
    assert "which cannot be told from" in words
    assert train in words
    bars = re.search(r'aria-label="(f1: [^"]*)"', html)[1]
    assert [part.rsplit(" ", 1)[1] for part in bars.removesuffix(".").split(", ")] == [
        f"{answer.row(name).value:.4f}" for name in ("arow", LINEAR, MAJORITY)
    ]
    brief, whole = re.findall(r"<table>.*?</table>", html, re.DOTALL)[:2]
    assert brief.count("<tr") < whole.count("<tr") == 12
    assert brief.count('scope="col"') == 4


def test_no_model_is_recommended_where_none_is_better_than_a_constant():
    scores = [0.80, 0.83, 0.81]
    html = report_html(made_answer({"arow": scores, MAJORITY: scores}), Made(source="a", label="y"))
    words = first_screen(html)
    assert "No model is clearly better than always predicting the most frequent class" in words
    assert "crossview train" not in words


def test_what_was_not_kept_is_said_once(results):
    html = report_html(replace(results["folds"], diagnostics=None))
    words = " ".join("".join(Outline(html).words).split())
    assert words.count("has not kept") == 1
    assert 'id="predictions-title"' in html  # the confusion matrix is there
    assert "<svg" in notebook_html(replace(results["folds"], diagnostics=None))
