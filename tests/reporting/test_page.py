"""The page of a result: all of it is there, and nothing in it comes from elsewhere or runs."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from comparisons import made_answer, made_row
from crossview.comparing.result.ranking import Member
from crossview.reporting.notebook import notebook_html
from crossview.reporting.page.render import report_html
from crossview.reporting.page.sections import Made
from crossview.scoring.diagnostics import StrongInteraction

SECTIONS = {
    "folds": "models worth rows predictions columns differences data made",
    "stream": "models worth rows predictions columns differences data made",
    "three": "models worth predictions columns differences data made",
    "number": "models worth predictions columns differences data made",
    "trained": "predictions columns differences experts data model made",
    "evaluated": "metrics time predictions columns differences experts data model made",
}
FIGURES = {"folds": 10, "stream": 9, "three": 5, "number": 3, "trained": 8, "evaluated": 9}
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
    assert "answer" in html.partition("<main>")[0]
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
    assert ("the table has the mean of the folds" in words) == (kind in ("folds", "three"))


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
    """The words above the sections."""
    return " ".join("".join(Outline(html.partition("<main")[0] + "</body></html>").words).split())


@pytest.mark.parametrize("kind", ["folds", "stream", "number"])
def test_the_models_have_their_speeds(results, kind):
    answer = results[kind]
    rows = [replace(row, predicted_per_second=4321.0) for row in answer.rows]
    words = "".join(Outline(report_html(replace(answer, rows=rows))).words)
    assert "learned/s" in words
    assert ("4.3k" in words) == ("predicted/s" in words) == (kind != "stream")


def test_a_prompt_shows_the_answer_in_words(results):
    for one in results.values():
        shown = repr(one)
        assert "array(" not in shown
        assert len(shown.splitlines()) < 25
    trained = results["trained"]
    assert trained.summary in repr(trained)
    assert "view weak: 2 numeric, 1 " in repr(trained)
    assert "120 rows shuffled, 1 pass" in repr(trained)


@pytest.mark.parametrize("kind", ["number", "trained", "evaluated"])
def test_a_notebook_shows_the_answer_and_a_picture(results, kind):
    outline = Outline(results[kind]._repr_html_())
    assert len(outline.all("svg")) == len(outline.all("table")) == 1
    assert not outline.all("script")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("folds", ["to at most 300 of the rows held out of the first fold"]),
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


ENSEMBLE = made_row(
    *("ensemble", [0.9, 0.92, 0.91]),
    members=[Member("arow", 0.6, {}), Member("view:a", 0.4, {})],
    confusion=[[5, 1], [1, 3]],
)


def of_models(*more, **known):
    """An answer with bars of all kinds, views alone, and others."""
    scores = {"arow": [0.80, 0.83, 0.81], LINEAR: [0.80, 0.82, 0.81], MAJORITY: [0.5, 0.5, 0.5]}
    scores |= {key: [0.5, 0.6, 0.5] for key in ("pam", "cw", "scw", "stacking", "view:a")}
    scores["view:b"] = [0.7, 0.72, 0.71]
    return made_answer([*more, *(made_row(*one) for one in scores.items())], **known)


def test_the_first_screen_has_an_answer_with_its_doubt_three_bars_the_views_and_what_to_do():
    answer = of_models(ENSEMBLE, warnings=["a: tells the label"], planned_folds=5)
    train = "crossview train 'my file.csv' --label y -o MODEL"
    made = Made(source="my file.csv", label="y", commands={"ensemble": train}, said=["b: a guess"])
    html = report_html(answer, made)
    words = first_screen(html)
    low, high = (f"{end:.3f}" for end in answer.interval(answer.recommended))
    assert (
        f"The ensemble of 2 models is recommended: f1 of 'yes' = 0.910 ({low} to {high} on new "
        "rows, 95 % interval); scikit-learn's logistic regression reaches 0.810, clearly worse."
    ) in words
    assert "adaptive regularization of weights (arow) 0.60, the view a alone 0.40" in words
    assert "It finds 75% of the 'yes' rows, and is right in 75% of those that it calls so." in words
    assert "No view alone is shown to be as good as all; the best is 'b'" in words
    assert words.index("b0.710") < words.index("a0.533")
    for doubt in ("A: tells the label.", "B: a guess.", "3 of 5 folds were finished."):
        assert doubt.lower() in words.lower()
    assert train in words
    bars = re.search(r'aria-label="(f1: [^"]*)"', html)[1]
    assert [part.rsplit(" ", 1)[1] for part in bars.removesuffix(".").split(", ")] == [
        f"{answer.row(name).value:.4f}" for name in ("ensemble", LINEAR, MAJORITY)
    ]
    (whole,) = re.findall(r"<table>.*?</table>", html.partition("<main>")[2], re.DOTALL)[:1]
    assert whole.count("<tr") == 1 + len(answer.rows)
    assert "<details open" not in html


def test_a_single_model_that_is_shown_to_be_equal_is_offered_with_its_command():
    near = made_row("pa:independent", [0.9, 0.92, 0.909])
    made = Made(commands={"ensemble": "crossview train 1", near.model: "crossview train 2"})
    words = first_screen(report_html(of_models(ENSEMBLE, near), made))
    assert "equal: passive-aggressive, independent (pa:independent), 0.910" in words
    one = replace(ENSEMBLE, members=ENSEMBLE.members[:1])
    assert "The ensemble of 1 model is" in first_screen(report_html(of_models(one)))
    assert words.index("crossview train 1") < words.index("crossview train 2")
    assert "No check has found anything." in words


def test_a_baseline_with_a_higher_mean_than_the_ensemble_is_not_called_equal():
    rows = []
    for name, scores, auc in ((LINEAR, [0.73, 0.88], 0.7), ("ensemble", [0.70, 0.73], 0.8)):
        members = ENSEMBLE.members if name == "ensemble" else []
        others = {"roc_auc": [auc, auc]}
        rows.append(made_row(name, scores, others=others, roc_auc=auc, members=members))
    rows += [made_row(name, [0.5, 0.52]) for name in ("arow", "view:a")]
    words = first_screen(report_html(made_answer(rows)))
    assert "logistic regression reaches 0.805, which is not surely better" in words


def test_where_no_model_file_holds_the_best_the_next_is_offered():
    rows = {"baseline:gradient-boosting": [0.9, 0.91, 0.9], "arow": [0.7, 0.7, 0.72]}
    answer = made_answer(rows)
    made = Made(commands={"arow": "crossview train 1"})
    words = first_screen(report_html(answer, made))
    assert "The best that is saved as a model file: " in words
    assert "crossview train 1" in words
    (line,) = answer.how_to_train
    assert line == (
        "train(X, y, **answer.train_arguments_of(answer.best_trained)) trains arow (f1 0.7067), "
        "the best that is saved as a model file"
    )


def test_without_an_ensemble_a_model_is_told_by_name_and_code():
    words = first_screen(report_html(of_models()))
    assert "Adaptive regularization of weights (arow) is recommended: f1 of 'yes' = 0.813" in words
    assert "scikit-learn's logistic regression reaches 0.810, behind with probability" in words
    stream = first_screen(report_html(of_models(mode="progressive", folds=0)))
    assert "9 rows scored in stream order" in stream


def test_only_beside_a_baseline_a_model_is_called_the_best_of_crossview():
    ours = {"stacking": [0.90, 0.91, 0.92], "view:a": [0.90, 0.91, 0.919]}
    words = first_screen(report_html(made_answer(ours)))
    assert "(stacking) reaches 0.910" in words
    assert "Crossview's best" not in words
    theirs = {"baseline:forest": [0.98, 0.98, 0.97], "view:a": [0.90, 0.91, 0.919]}
    assert "Crossview's best, " in first_screen(report_html(made_answer(theirs)))


def test_no_model_is_recommended_where_none_is_better_than_a_constant():
    scores = [0.80, 0.83, 0.81]
    html = report_html(made_answer({"arow": scores, MAJORITY: scores}), Made(source="a", label="y"))
    words = first_screen(html)
    assert "No model is clearly better than one class for all rows" in words
    assert "crossview train" not in words
    assert "Look for more rows" in words
    some = made_row("arow", scores, others={"roc_auc": [0.7, 0.8, 0.7]}, roc_auc=0.73)
    words = first_screen(report_html(made_answer([some, made_row(MAJORITY, scores)])))
    assert "scoring='roc_auc': the models tell the classes apart (AUC 0.730" in words


def test_what_was_not_kept_is_said_once(results):
    html = report_html(replace(results["folds"], diagnostics=None))
    words = " ".join("".join(Outline(html).words).split())
    assert words.count("has not kept") == 1
    assert 'id="predictions-title"' in html  # the confusion matrix is there
    assert "<svg" in notebook_html(replace(results["folds"], diagnostics=None))
