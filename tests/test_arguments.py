"""Arguments of a wrong type: one line that names them, and not a traceback of Python."""

import pytest

from crossview import InputError, PassiveAggressiveClassifier, Scoring, merge, open_rows, open_table

MODEL = PassiveAggressiveClassifier().fit([[1.0], [2.0]], [0, 1])


@pytest.mark.parametrize(
    ("call", "given", "words"),
    [
        (open_table, {"format": [1]}, "format= is a list; give a name or None"),
        (open_table, {"null": 5}, "null= is an int; give a name or a list of names or None"),
        (open_table, {"null": [5]}, "null= is an int; give a name"),
        (open_table, {"decimal": {}}, "decimal= is a dict; give a name or None"),
        (open_table, {"delimiter": 5}, "delimiter= is an int; give a name or None"),
        (open_table, {"quote": b"'"}, "quote= is a bytes; give a name or None"),
        (open_table, {"header": 1}, "header= is an int; give True or False or None"),
        (open_table, {"dialect": 1}, "dialect= is an int; give a mapping of names or None"),
        (open_table, {"batch_rows": 5.5}, "batch_rows= is a float; give a whole number"),
        (open_rows, {"views": 5}, "views= is an int; give a mapping of names or None"),
        (open_rows, {"hash_bits": "18"}, "hash_bits= is a str; give a whole number"),
        (open_rows, {"tags": None}, "tags= is a NoneType; give True or False"),
        (open_rows, {"batch_rows": None}, "batch_rows= is a NoneType; give a whole number"),
        (Scoring, {"metric": 5}, "metric= is an int; give a name or None"),
        (Scoring, {"cost": 5}, "cost= is an int; give a mapping of names or a name or None"),
        (Scoring, {"positive": ["yes"]}, "positive= is a list; give one label"),
        (merge, {"models": 5}, "models= is an int; give a list of models"),
        (merge, {"models": [MODEL], "weights": "a"}, "weights='a'; give the number of rows of"),
        (merge, {"models": [MODEL], "product": 1}, "product= is an int; give True or False"),
    ],
)
def test_an_argument_of_a_wrong_type_is_named(call, given, words, tmp_path):
    files = {open_table: ("t.csv", "a,b\n1,2\n"), open_rows: ("t.svm", "1 1:0.5\n")}
    source = []
    if call in files:
        name, text = files[call]
        (tmp_path / name).write_text(text)
        source = [tmp_path / name]
    with pytest.raises(InputError) as error:
        call(*source, **given)
    assert error.value.message.startswith(words)
