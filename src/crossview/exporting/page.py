"""A page that explains a prediction while one types."""

from __future__ import annotations

import html
import json
from string import Template

from crossview.exporting.javascript import in_script, minified, source_of
from crossview.exporting.plan import Plan
from crossview.portable.encoding import TableEncoder

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
        names = plan.names.get(view.name, {}).values()
        for one in view.hashed:
            if one.form == "category":
                own = [name[len(one.prefix) :] for name in names if name.startswith(one.prefix)]
                found[plan.encoder.columns[one.column].name] = own[:MOST_SUGGESTED]
    return found
