"""A model as one Python file, which needs nothing but Python."""

from __future__ import annotations

import json
from importlib import resources

from crossview.exporting.plan import Plan

_MAIN = """

MODEL = Model(json.loads(r\'\'\'{description}\'\'\'))
predict, predict_proba, view_scores = MODEL.predict, MODEL.predict_proba, MODEL.view_scores

if __name__ == "__main__":
    _main(MODEL)
"""


def python_file(plan: Plan) -> str:
    """Return the module: the runtime, and the description of the model as JSON."""
    source = resources.files("crossview.exporting").joinpath("runtime.py").read_text("utf-8")
    # the quotes end in no text of JSON
    text = json.dumps(plan.to_dict(), separators=(",", ":")).replace("'", "\\u0027")
    return source.rstrip() + "\n" + _MAIN.format(description=text)
