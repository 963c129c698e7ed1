"""A model as JSON, and as a JavaScript module without dependencies."""

from __future__ import annotations

import json
import re
from importlib import resources

from crossview.exporting.plan import Plan

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
