"""Every parameter of every public learner is documented once and truly."""

import inspect
import re

import pytest

import crossview
from crossview.estimators.documentation import document_parameters


def documented(text):
    """Name and type of each entry of the Parameters section; "C, r : float" has two."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n\w[^\n]*\n-{3,}\n|\Z)", text, re.M | re.S)
    assert section, "there is no Parameters section"
    entries = re.findall(r"^(\S[^\n]*?) : ([^\n]+)", section[1], re.M)
    return [(name, kind) for names, kind in entries for name in names.split(", ")]


@pytest.mark.parametrize("name", [name for name in crossview.__all__ if name.endswith("Regressor")])
def test_a_regressor_does_not_speak_of_classes_of_rows(name):
    text = inspect.getdoc(getattr(crossview, name))
    assert "stratified" not in text
    assert "classes_" not in text
    assert "log odds" not in text


def test_a_parameter_that_is_documented_nowhere_is_refused():
    class Learner:
        """A learner.

        Parameters
        ----------
        C : float, default=2.0
            Its own.
        """

        def __init__(self, *, C=2.0, alpha=0.1): ...

    with pytest.raises(TypeError, match="'alpha' of Learner is not documented"):
        document_parameters()(Learner)
    shared = {"alpha": ("float", "Shared."), "C": ("int", "Overridden."), "other": ("int", "No.")}
    assert documented(document_parameters(shared)(Learner).__doc__) == [
        ("C", "float, default=2.0"),
        ("alpha", "float, default=0.1"),
    ]
    Learner.__init__ = lambda self, *, alpha=0.1: None
    with pytest.raises(TypeError, match=r"documents \{'C'\}"):
        document_parameters(shared)(Learner)
