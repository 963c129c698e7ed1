"""From a result to its page, and from a page to HTML."""

from __future__ import annotations

import datetime
import re
from importlib import resources
from importlib.metadata import version
from typing import Any

from crossview.comparing.result.comparison import Comparison
from crossview.evaluating.evaluation import Evaluation
from crossview.reporting.displays.style import NOT_IN_XML
from crossview.reporting.page.blocks import Page, group
from crossview.reporting.page.comparison import comparison_page
from crossview.reporting.page.evaluation import evaluation_page
from crossview.reporting.page.sections import Made
from crossview.reporting.page.training import training_page

# where a name may go on in the next line: behind these, which divide its words
MARKS = re.compile(r"(?<=[:/=_])(?![:/=_]|$)|(?<=[.,])(?=[^\d\s.,])")
# an option, which browsers would break behind its hyphens
OPTION = re.compile(r"(?<![\w-])(--?[a-z][\w-]*)")


def render(page: Page) -> str:
    """Return a page as one HTML file, which needs no other."""
    from jinja2 import Environment, StrictUndefined

    here = resources.files("crossview.reporting.page")
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.filters["breakable"] = _breakable
    environment.filters["whole_options"] = _whole_options
    template = environment.from_string((here / "template.html").read_text(encoding="utf-8"))
    html = template.render(
        page=page,
        groups=group,
        sections=[section for section in page.sections if section.blocks],
        css=re.sub(r"\n\s*", " ", (here / "style.css").read_text(encoding="utf-8")),
        version=version("crossview"),
        made=datetime.date.today().isoformat(),
    )
    return NOT_IN_XML.sub("\ufffd", html)


def _breakable(name: str) -> str:
    """A name as HTML that is broken behind a mark between words, and not within one."""
    from markupsafe import Markup, escape

    # a hyphen is such a mark for browsers already
    return Markup("<wbr>").join(escape(part) for part in MARKS.split(name))


def _whole_options(words: str) -> str:
    """Words as HTML in which no option of a command is broken."""
    from markupsafe import Markup, escape

    return Markup(OPTION.sub(r'<span class="option">\1</span>', str(escape(words))))


def report_html(result: Any, made: Made | None = None, fitted: Any = None, info: Any = None) -> str:
    """Return a result as one HTML file."""
    if isinstance(result, Comparison):
        return render(comparison_page(result, made))
    if isinstance(result, Evaluation):
        return render(evaluation_page(result, made, fitted, info))
    return render(training_page(result, made))
