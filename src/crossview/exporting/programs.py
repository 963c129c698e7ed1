"""A model as JSON, and as programs that need nothing else: JavaScript, a page, and Python."""

from __future__ import annotations

import html
import json
import re
from importlib import resources
from string import Template

from crossview.exporting.plan import Plan
from crossview.portable.encoding import TableEncoder

# strings, templates and regular expressions stay as they are; a division has blanks around it
_TOKEN = re.compile(
    r"""("(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`"""
    r"""|(?<=[(,=:!&|\s])/(?![/*\s])(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\n])+/[a-z]*)"""
    r"""|/\*.*?\*/|//[^\n]*|(\s+)""",
    re.DOTALL,
)
_MARKS = frozenset("{}()[];,<>=+-*/%&|!?:")


def source_of(name: str) -> str:
    """Return a file of this folder."""
    return resources.files("crossview.exporting").joinpath(name).read_text("utf-8")


def minified(source: str) -> str:
    """Return JavaScript of this package without comments, and without blanks that mean nothing."""
    parts: list[str] = []
    at, blank = 0, ""
    pieces: list[tuple[str, bool]] = []  # text, and whether it is only blanks
    for found in _TOKEN.finditer(source):
        if found.start() > at:
            pieces.append((source[at : found.start()], False))
        if found[1]:
            pieces.append((found[1], False))
        else:
            pieces.append(("\n" if "\n" in found[0] else " ", True))
        at = found.end()
    pieces.append((source[at:], False))
    for text, is_blank in pieces:
        if is_blank:
            blank = "\n" if "\n" in (text, blank) else " "
            continue
        if not text:
            continue
        before, after = parts[-1][-1:] if parts else "{", text[0]
        double = before == after and before in "+-"
        ends = before in "{;,(" or (blank == " " and before in _MARKS) or after in ")}]"
        if blank and (double or not (ends or (blank == " " and after in _MARKS))):
            parts.append(blank)
        parts.append(text)
        blank = ""
    return "".join(parts) + "\n"


def json_file(plan: Plan) -> str:
    """Return the description of the model as JSON."""
    return json.dumps(plan.to_dict(), ensure_ascii=False, separators=(",", ":")) + "\n"


def in_script(plan: Plan) -> str:
    """Return the description as an expression of JavaScript, also inside of a page."""
    return json_file(plan).strip().replace("<", "\\u003c")


def javascript_module(plan: Plan) -> str:
    """Return the module: `load` of any model, and this one."""
    return (
        minified(source_of("runtime.js")) + f"const model=load({in_script(plan)});\n"
        "export default model;\n"
        "export const {predict,predictProba,viewScores,explain}=model;\n"
    )


# categories of a column that its field suggests
MOST_SUGGESTED = 100


def page(plan: Plan) -> str:
    """Return the page, which loads nothing from elsewhere."""
    classes = plan.model.classes
    what = "a number" if classes is None else " or ".join(map(str, classes[:4]))
    what += " ..." if classes is not None and len(classes) > 4 else ""
    names = ", ".join(plan.model.views[:6])
    return Template(source_of("page.html")).substitute(
        title=html.escape(f"Predict {what}"),
        about=html.escape(f"A model of Crossview on the views {names}."),
        script=minified(source_of("runtime.js")),
        description=in_script(plan),
        known=json.dumps(_suggestions(plan)).replace("<", "\\u003c"),
        page=minified(source_of("page.js")),
    )


def _suggestions(plan: Plan) -> dict[str, list[str]]:
    """Return the first categories of each column of categories."""
    if not isinstance(plan.encoder, TableEncoder):
        return {}
    found: dict[str, list[str]] = {}
    for view in plan.encoder.views:
        for one in view.hashed:
            if one.form == "category":
                own = plan.categories(view.name, one.prefix)
                found[plan.encoder.columns[one.column].name] = own[:MOST_SUGGESTED]
    return found


_MAIN = """

MODEL = Model(json.loads(r\'\'\'{description}\'\'\'))
predict, predict_proba, view_scores = MODEL.predict, MODEL.predict_proba, MODEL.view_scores

if __name__ == "__main__":
    _main(MODEL)
"""


def python_file(plan: Plan) -> str:
    """Return the module: the runtime, and the description of the model as JSON."""
    # the quotes end in no text of JSON
    text = json.dumps(plan.to_dict(), separators=(",", ":")).replace("'", "\\u0027")
    return source_of("runtime.py").rstrip() + "\n" + _MAIN.format(description=text)
