"""Which strings are text, and the words, characters and shape that views have of it."""

import re
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer

import crossview
from crossview import GuessWarning, InputError, ViewEncoder, train
from crossview.data.labeled_source import code_texts, encode_parts, open_labeled
from crossview.tables.text import shape_numbers, shape_of

RNG = np.random.default_rng(0)
N = 200
WORDS = "the cat sat on a mat and dogs ran home because rain fell over old town".split()  # noqa: SIM905
NAMES = ["Anna", "Ben", "Carla", "Dirk", "Eva", "Finn", "Greta", "Hans", "Ida", "Jan"]


def sentences(n=N, low=3, high=14):
    return [" ".join(RNG.choice(WORDS, k)) + "." for k in RNG.integers(low, high, n)]


def spelled(format):
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 10**7, N), unit="s")
    return days.strftime(format).tolist()


def is_text(values, **options):
    table = pa.table({"v__x": values, "v__n": np.arange(len(values))})
    return ViewEncoder(hash_bits=4, **options).fit(table).kinds()["v__x"] == "text"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (sentences(), True),
        ([*sentences(100), *[None] * 900], True),
        (pa.array(sentences()).dictionary_encode(), True),
        (pa.array(sentences(), pa.string_view()), True),
        ([f"{s} +49 171 {i} €££ 17:30 --" for i, s in enumerate(sentences(N, 5, 20))], True),
        (sentences(N, 8, 9), True),  # always as many words, and never in the same places
        # numbers with many words between them
        ([f"{s} {'1234567890 ' * 40}" for s in sentences(N, 25, 60)], True),
        (sentences(19), False),
        (sentences(20) * 10, False),  # repeated
        ([None] * N, False),
        ([""] * N, False),
        (["".join(RNG.choice(list("0123456789abcdef"), 32)) for _ in range(N)], False),
        ([" ".join(RNG.choice(NAMES, 3)) for _ in range(N)], False),
        (spelled("%a, %d %b %Y %H:%M:%S +0000"), False),
        (spelled("%A, %d %B %Y at %I %p"), False),
        ([f"+49 {i} {i * 7} {i % 9}" for i in range(N)], False),
        ([f'{{"id": {i}, "name": "{NAMES[i % 10]}", "ok": true}}' for i in range(N)], False),
        ([f"{NAMES[i % 10]} Road {i}, {i * 37} New Town" for i in range(N)], False),
        ([f"Order {i} of {NAMES[i % 10]} came by {NAMES[i % 7]} in time" for i in range(N)], False),
    ],
)
def test_sentences_are_text_and_other_strings_are_none(values, text):
    kind = pa.string() if isinstance(values, list) else None
    assert is_text(values if kind is None else pa.array(values, kind)) == text


def test_what_is_declared_is_not_guessed():
    values = sentences()
    assert not is_text(values, categorical=["v__x"])
    assert not is_text(values, text=())
    assert is_text([f"k{i}" for i in range(N)], text=["v__x"])
    table = pa.table({"v__x": values})
    stream = ViewEncoder(hash_bits=4).partial_fit(table.slice(0, 19))  # too few to tell
    assert stream.kinds()["v__x"] == "categorical"


def test_the_only_column_of_text_may_be_named_without_a_list():
    table = pa.table({"page": sentences(), "y": ["p", "q"] * (N // 2)})
    source = open_labeled(table, "y", encoder=ViewEncoder(text="page", hash_bits=4))
    assert source.encoder.kinds() == {"page": "text"}


THREE = {"words": ["words(t)"], "chars": ["chars(t)"], "shape": ["shape(t)"]}


@pytest.mark.parametrize(
    ("columns", "options", "views"),
    [
        ({"t": "s"}, {}, THREE),
        ({"t": "s", "n": 1, "m": 1}, {}, THREE | {"rest": ["n", "m"]}),
        (
            {"rest": "s", "chars": "s", "n": 1},
            {},
            {
                "rest": ["rest"],
                "chars": ["chars"],
                "chars of texts": ["chars(rest)", "chars(chars)"],
                "shape": ["shape(rest)", "shape(chars)"],
                "all": ["n"],
            },
        ),
        (
            {f"t{i}": "s" for i in range(5)},
            {},
            {"text": [f"t{i}" for i in range(5)]},
        ),
        ({f"t{i}": "s" for i in range(3)}, {}, {f"t{i}": [f"t{i}"] for i in range(3)}),
        ({"t": "s"}, {"categorical": ["t"]}, {"all": ["t"]}),
        ({"t": "s", "n": 1}, {"categorical": "t"}, {"all": ["t", "n"]}),
        ({"v__t": "s"}, {}, {"v": ["v__t"]}),
        ({"t": "s", "n": 1}, {"views": {"a": "*"}}, {"a": ["t", "n"]}),
        (
            {"t": "s", "n": 1},
            {"views": {"a": ["n", "shape(t)"], "b": "chars(t*)"}},
            {"a": ["n", "shape(t)"], "b": ["chars(t)"]},
        ),
        ({"t": "s", "chars(t)": 1}, {"views": {"a": "chars(t)"}}, {"a": ["chars(t)"]}),
    ],
)
def test_views_of_text(columns, options, views):
    texts = sentences()
    table = pa.table({name: texts if x == "s" else np.arange(N) for name, x in columns.items()})
    fitted = ViewEncoder(hash_bits=6, **options).fit(table)
    assert fitted.specified_views() == views
    declared = {k: v or () for k, v in fitted.declared_columns().items()}
    again = ViewEncoder(views, hash_bits=6, **declared).fit(table)
    np.testing.assert_array_equal(
        again.transform(table).matrix.toarray(), fitted.transform(table).matrix.toarray()
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"views": {"a": "t", "b": "words(t)"}}, "'t': is in two views as the same"),
        ({"views": {"a": "chars(t)"}, "categorical": ["t"]}, "taken apart as text.*categorical="),
        ({"views": {"a": "chars(x)"}}, "view 'a': no column is called 'x'"),
        ({"views": {"a": "shape(n)"}}, "'n': is text, and holds int64"),
    ],
)
def test_forms_that_no_column_has(options, message):
    table = pa.table({"t": sentences(), "n": np.arange(N)})
    with pytest.raises(InputError, match=message):
        ViewEncoder(**options).fit(table)


def test_characters_are_weighed_as_scikit_learn_does():
    texts = ["Free entry! x", "", "free ENTRIES of 2 cups", "naïve entry"]

    def grams(text):
        words = [f"<{word}>" for word in text.lower().split()]
        return [
            word[i : i + n] for word in words for n in (3, 4, 5) for i in range(len(word) - n + 1)
        ]

    expected = TfidfVectorizer(analyzer=grams).fit(texts)
    fitted = ViewEncoder({"c": "chars(t)"}, scale_views=False).fit(pa.table({"t": texts}))
    X = fitted.transform(pa.table({"t": texts})).matrix
    for row, weights in enumerate(expected.transform(texts)):
        terms = expected.get_feature_names_out()[weights.indices]
        start, stop = X.indptr[row : row + 2]
        found = {
            fitted.feature_name("c", int(c)): v
            for c, v in zip(X.indices[start:stop], X.data[start:stop], strict=True)
        }
        assert found == pytest.approx(
            {f"t~{term}": v for term, v in zip(terms, weights.data, strict=True)}
        )
    (meaning,) = fitted.explain_columns("c", [int(X.indices[0])])
    assert meaning.column == "t"
    assert meaning.name == f"t~{meaning.value}"


def test_parts_of_a_table_are_encoded_as_if_nothing_had_been_read_before():
    """Their texts are codes of one dictionary, of which an encoder before has the words."""
    texts = [*sentences(), None, "", "naïve entry"]
    X = pa.table({"t": texts, "n": RNG.normal(size=len(texts))})
    encoder = ViewEncoder({"w": "t", "c": "chars(t)", "s": ["shape(t)", "n"]}, text="t")
    coded, before = code_texts(X, encoder), None
    for rows in (np.arange(0, len(texts), 2), np.arange(len(texts) // 2)):
        parts = [rows, np.setdiff1d(np.arange(len(texts)), rows)]
        before, again = encode_parts(coded, encoder, parts, before)
        fresh, expected = encode_parts(X, encoder, parts)
        for one, other in zip(again, expected, strict=True):
            assert (one.matrix != other.matrix).nnz == 0
            assert (one.matrix.indptr == other.matrix.indptr).all()
        for view in "wcs":
            columns = np.arange(fresh.layout_.widths[fresh.layout_.index(view)])
            assert before.explain_columns(view, columns) == fresh.explain_columns(view, columns)
    # with other parameters nothing is shared
    pairs = clone(encoder).set_params(ngram_range=(1, 2))
    (again,), (expected,) = (
        encode_parts(coded, pairs, [parts[0]], one)[1] for one in (before, None)
    )
    assert (again.matrix != expected.matrix).nnz == 0


def test_the_shape_of_a_text():
    texts = ["Call 07 now!", "see WWW.x.org or http://y.z", "", None, "ß été"]
    fitted = ViewEncoder({"s": "shape(t)"}, scale_views=False, standardize=False)
    X = fitted.fit_transform(pa.table({"t": texts}))
    names = list(fitted.get_feature_names_out())
    numbers = X.matrix.toarray()
    length, words, digits, capitals, marks, addresses = numbers[:, :6].T
    np.testing.assert_allclose(length, np.log1p([12, 27, 0, 0, 5]))
    np.testing.assert_array_equal(words, [3, 4, 0, 0, 2])
    np.testing.assert_allclose(digits, [0.2, 0, 0, 0, 0])
    np.testing.assert_allclose(capitals, [0.1, 3 / 24, 0, 0, 0])
    np.testing.assert_allclose(marks, [0.1, 6 / 24, 0, 0, 0])
    np.testing.assert_allclose(addresses, [0, 0.5, 0, 0, 0])
    parts = ["log length", "words", "digits", "capitals", "marks", "addresses"]
    assert names[:6] == [f"s__t {part}" for part in parts]
    assert not numbers[:, 6:].any()  # the view is missing, and nothing of it has an entry
    assert X.present[:, 0].tolist() == [True, True, True, False, True]
    fitted.set_params(views={"s": ["n", "shape(t)"]})
    numbers = fitted.fit_transform(pa.table({"t": texts, "n": range(5)})).matrix.toarray()
    missing = list(fitted.get_feature_names_out()).index("s__t log length is missing")
    np.testing.assert_array_equal(numbers[:, missing], [0, 0, 0, 1, 0])


def test_a_stream_of_text_is_encoded_as_one_batch():
    texts = [*sentences(40), None, ""]
    table = pa.table({"t": texts})
    views = {"w": "t", "c": "chars(t)", "s": "shape(t)"}
    whole, parts = (ViewEncoder(views, text=["t"], hash_bits=10) for _ in range(2))
    X = whole.partial_fit_transform(table).matrix.toarray()
    cut = [parts.partial_fit_transform(table.slice(i, 5)).matrix.toarray() for i in range(0, 42, 5)]
    np.testing.assert_allclose(np.vstack(cut), X, rtol=1e-12, atol=1e-12)
    assert parts.get_feature_names_out().tolist() == whole.get_feature_names_out().tolist()
    restored = ViewEncoder(views, text=["t"], hash_bits=10)
    restored.set_header(whole.get_header())
    restored.set_state(whole.get_state())
    np.testing.assert_array_equal(
        restored.transform(table).matrix.toarray(), whole.transform(table).matrix.toarray()
    )


def test_a_table_of_one_text_is_learned_saved_and_scored(tmp_path):
    y = np.array(["ham", "spam"])[RNG.integers(0, 2, N)]
    texts = [
        s + (" winnner 99 www.x.y" if k == "spam" else "")
        for s, k in zip(sentences(), y, strict=True)
    ]
    table = pa.table({"message": texts, "y": y})
    result = crossview.train(table, "y", model="pa:independent", seed=0)
    assert result.encoder.layout_.names == ("words", "chars", "shape")
    crossview.save(result.fitted, tmp_path / "m.st")
    fitted = crossview.load(tmp_path / "m.st")
    new = pa.table({"message": ["rain fell over the old town", "big winner 99 www.x.y", None]})
    assert list(fitted.predict(new))[:2] == ["ham", "spam"]
    evaluated = crossview.evaluate(tmp_path / "m.st", table, "y")
    assert evaluated.value > 0.9
    compared = crossview.compare(table, "y", models=["view:chars", "view:shape"], cv=2)
    assert tuple(compared.views) == ("words", "chars", "shape")


def test_the_first_table_of_a_stream_says_what_is_text_and_dates():
    n = 60
    dates = [f"2025-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(n)]
    table = pa.table({"note": sentences(n), "color": ["red", "blue"] * (n // 2), "at": dates})
    stream = ViewEncoder().partial_fit(table.slice(0, 40)).partial_fit(table.slice(40))
    whole = ViewEncoder(bins=10).fit(table)
    assert stream.layout_ == whole.layout_
    assert stream.declared_columns(whole=True) == whole.declared_columns(whole=True)
    # what day and month are is not known of these, and a later row may say it
    unsure = pa.table({"at": [f"{1 + i % 12:02d}/03/2025" for i in range(40)]})
    assert not ViewEncoder().partial_fit(unsure).declared_columns(whole=True)["date"]


@pytest.mark.parametrize("rows", [1, 10])
def test_sentences_that_a_stream_learns_as_categories_are_said(rows):
    table = pa.table({"m__note": sentences(100), "m__color": ["red", "blue"] * 50})

    def learn(encoder):
        for at in range(0, 100, rows):
            if rows == 1:
                note, color = (table[name][at].as_py() for name in table.column_names)
                encoder.partial_fit_transform_one({"m": {"note": note, "color": color}})
            else:
                encoder.partial_fit(table.slice(at, rows))

    with pytest.warns(GuessWarning, match="'m__note' is learned as a category") as said:
        learn(ViewEncoder())
    assert len(said) == 1
    learn(ViewEncoder(categorical=["m__note"]))
    learn(ViewEncoder(text=()))


COMMAS = [f"{i % 7},{i % 10}" for i in range(100)]
LEARNERS = {
    "fit": lambda table: ViewEncoder().fit(table),
    "partial_fit": lambda table: [
        ViewEncoder().partial_fit(table),
        (few := ViewEncoder()).partial_fit(table[:10]),
        few.partial_fit(table[10:]),
    ],
    "train": lambda table: train(table.assign(y=[0, 1] * 50), "y", model="arow"),
}


@pytest.mark.parametrize("learn", LEARNERS.values(), ids=LEARNERS)
@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (COMMAS, "0,0"),
        (["n/a", *COMMAS[1:80], "0.5", *["n/a"] * 19], "1,1"),
        (["$ 5"] * 100, r"\$ 5"),
        ([*COMMAS[:70], *["red"] * 30], None),
        ([str(i) for i in range(100)], None),  # codes
        (["0.5", *["012"] * 99], None),
    ],
)
def test_numbers_that_are_text_are_said_where_they_are_learned(learn, values, shown):
    table = pd.DataFrame({"price": values, "age": np.arange(100.0)})
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", GuessWarning)
        learn(table)
    lines = {str(one.message) for one in said if "look like numbers" in str(one.message)}
    assert len(lines) == (shown is not None)
    for line in lines:
        assert re.search(f"'price' is learned as a category.*such as '{shown}'", line)


def test_the_shape_of_one_text_is_that_of_a_table():
    odd = ["", " ", "a\x0bb c\u00a0d\u2003e", "HTTP://x", "HTTP\u017f://x y", "wWw.a xwww.b www."]
    odd += ["\u0663\u0664 \u01c4 \ufb00 \u00bd, a\u0301", "\U0001d7d8\U0001d400 😀", "\x00\x85"]
    rng = np.random.default_rng(0)
    codes = (rng.integers(0xD800, size=20) % most for most in (128, 256, 0x3000, 0xD800) * 50)
    texts = odd + ["".join(map(chr, some.tolist())) + " see http://a www.b" for some in codes]
    assert [shape_of(text) for text in texts] == shape_numbers(pa.array(texts)).tolist()


def test_half_a_character_is_refused_in_one_row():
    table = pa.table({"t": ["some words of it", "and others"]})
    encoder = ViewEncoder({"s": "shape(t)"}, text="t").fit(table)
    with pytest.raises(InputError, match="is no value of a table"):
        encoder.transform_one({"t": "words \ud800"})
