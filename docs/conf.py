"""The site: `make docs` builds it from these pages, without a network."""

import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import pages  # noqa: E402

import crossview  # noqa: E402

project = "Crossview"
author = copyright = "The Crossview developers"
release = crossview.__version__
version = release.partition("+")[0]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.extlinks",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = [
    *("_build", "gallery/*", "tutorials/*", "README.md"),
    *("_generated/datasets.md", "_generated/learners.md"),  # parts of pages
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["_templates"]
smartquotes = False  # options begin with two hyphens
maximum_signature_line_length = 80

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

extlinks = {"doi": ("https://doi.org/%s", "doi:%s")}
autosummary_generate = True
autodoc_default_options = {"members": True, "inherited-members": True, "undoc-members": False}
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": ["gallery", "tutorials"],
    "gallery_dirs": ["_generated/gallery", "_generated/tutorials"],
    "filename_pattern": "",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,  # pages that load scripts from a network
    "min_reported_time": 10**6,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "parallel": 2,
    "reset_modules": ("pages.reset_style",),
    "thumbnail_size": (480, 320),
    "image_scrapers": ("matplotlib",),
}

html_theme = "furo"
html_title = "Crossview"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5394", "color-brand-content": "#0b5394"},
    "dark_css_variables": {"color-brand-primary": "#8ab4f8", "color-brand-content": "#8ab4f8"},
}
suppress_warnings = ["myst.strikethrough"]

# all compiled loops of a build are in one place, and no window opens
os.environ.setdefault("MPLBACKEND", "agg")


def read_source(app, docname, source):
    """Let links to files beside docs/ lead to their pages, and add the code to papers."""
    text = source[0]
    if docname.startswith("papers/"):
        text += pages.code_beside(text)
    for file, page in pages.OUTSIDE.items():
        text = re.sub(rf"\]\((?:\.\./)+{re.escape(file)}", f"](/{page}", text)
    source[0] = text


def skip_foreign(app, what, name, obj, skip, options):
    """Leave out what learners inherit from scikit-learn, whose own documents have it."""
    function = getattr(obj, "__func__", getattr(obj, "fget", obj))
    module = getattr(function, "__module__", None) or ""
    return True if module.startswith("sklearn") else None


def outside_literals(change, line):
    """Change the words of a line that are neither an example nor ``literal``."""
    if line.lstrip().startswith((">>>", "...")):
        return line
    return "".join(
        part if part.startswith("`") else change(part) for part in re.split(r"(`+.*?`+)", line)
    )


def escape_bars(app, what, name, obj, options, lines):
    """|x| is a norm, and no substitution of reStructuredText."""
    lines[:] = [outside_literals(lambda part: part.replace("|", "\\|"), line) for line in lines]


def escape_underscores(app, what, name, obj, options, lines):
    """``coef_, intercept_`` are attributes, and no targets; numpydoc escapes single ones."""
    names = re.compile(r"\b([A-Za-z]\w*)_(?=[,\s*]|$)")
    lines[:] = [outside_literals(lambda part: names.sub(r"\1\\_", part), line) for line in lines]


def leave_out_of_search(app, doctree):
    """Let the search lead who uses the library to the guide, and not to how it is built."""
    if app.env.docname in {"architecture", "changelog", "contributing"}:
        app.env.metadata[app.env.docname]["nosearch"] = "true"


def setup(app):
    pages.write(HERE / "_generated")
    app.connect("source-read", read_source)
    app.connect("doctree-read", leave_out_of_search)
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("autodoc-process-docstring", escape_bars, priority=400)  # before numpydoc
    app.connect("autodoc-process-docstring", escape_underscores, priority=600)
