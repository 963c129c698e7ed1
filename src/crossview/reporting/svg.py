"""Pictures as SVG that takes its colors and its font from the page."""

from __future__ import annotations

import io
import re
import warnings
from typing import Any
from xml.etree import ElementTree

from crossview.reporting.displays.style import COLORS, INK, LINE, MUTED, NOT_IN_XML, styled

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
# of the picture, and what it is on the page
_VARIABLES = {
    INK: "currentColor",
    "#000000": "currentColor",
    MUTED: "var(--muted)",
    LINE: "var(--line)",
    **{color: f"var(--c{i})" for i, color in enumerate(COLORS)},
}
_FONT = re.compile(r"font: (?:(\d+|bold) )?([\d.]+)px [^;]*")


def svg_of(display: Any, key: str) -> str:
    """Return a display as an SVG element for a page."""
    with styled(), warnings.catch_warnings():
        # the page has other fonts, so it does not matter which letters these have
        warnings.filterwarnings("ignore", message=".*Glyph")
        warnings.filterwarnings("ignore", message=".*constrained_layout not applied")
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        figure, layout = Figure(figsize=display.size), ConstrainedLayoutEngine()
        display.plot(figure.subplots(), titled=False)
        layout.execute(figure)  # as an engine of the figure it would draw all twice
        written = io.BytesIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(written, format="svg", metadata=nothing)
    text = NOT_IN_XML.sub("\ufffd", written.getvalue().decode("utf-8", "replace"))
    root = ElementTree.fromstring(text)
    _adapt(root, key)
    root.set("role", "img")
    root.set("aria-label", NOT_IN_XML.sub("\ufffd", display.alt))
    ElementTree.register_namespace("", SVG)
    return ElementTree.tostring(root, encoding="unicode")


def _adapt(root: ElementTree.Element, key: str) -> None:
    """Take colors and fonts from the page, and give each part a name of its own."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}style"):
                parent.remove(child)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    values = " ".join(value for element in root.iter() for value in element.attrib.values())
    referred = set(re.findall(r"#([\w-]+)", values))
    for element in root.iter():
        for name, value in list(element.attrib.items()):
            del element.attrib[name]
            if name == "id":
                if value not in referred:
                    continue
                value = f"{key}-{value}"
            elif name == f"{{{XLINK}}}href":
                name, value = "href", value.replace("#", f"#{key}-", 1)
            elif name in ("style", "fill", "stroke"):
                value = _FONT.sub(
                    lambda m: f"font-weight: {m[1] or 400}; font-size: {m[2]}px", value
                )
                value = re.sub(r"#[0-9a-f]{6}", lambda m: _VARIABLES.get(m[0], m[0]), value)
            value = re.sub(r"url\(#", f"url(#{key}-", value)
            element.set(name, value)
