"""Pages that are written from the program: commands, the API, the code of papers."""

import importlib
import inspect
import re
from pathlib import Path

import typer

import crossview
from crossview import datasets
from crossview.catalog.learners import LEARNERS
from crossview.cli.app import app

ROOT = Path(__file__).parents[1]

# files beside docs/ that are pages of the site
OUTSIDE = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}

GROUPS = {
    "Compare, train, predict": (
        *("compare", "train", "predict", "evaluate", "describe", "weights", "progressive"),
        *("save", "load", "merge", "convert"),
    ),
    "Views": ("MultiView", "ViewLayout", "ViewEncoder", "ViewScaler", "ViewReader"),
    "Sources": (
        *("open_table", "open_rows", "join_tables"),
        *("load_svmlight", "load_libffm", "load_vw"),
    ),
    "Tuning": ("KernelSearchCV", "Measure"),
    "Pictures": (
        *("ComparisonDisplay", "ViewContributionDisplay", "ViewDifferenceDisplay"),
        *("CumulativeErrorDisplay", "ExpertWeightsDisplay", "LearningCurveDisplay"),
    ),
    "Errors and warnings": (
        *(
            "InputError",
            "LabelOrderWarning",
            "LeakWarning",
            "LearnedRowsWarning",
            "OneClassWarning",
        ),
        "GuessWarning",
    ),
}


def write(folder):
    """Write the pages into a folder, where they differ from what is there."""
    folder.mkdir(exist_ok=True)
    for name, text in {
        "commands": commands(),
        "api": api(),
        "datasets": data_sets(),
        "learners": learners(),
    }.items():
        file = folder / f"{name}.md"
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


def reset_style(gallery_conf, fname):
    """Give every picture the same quiet style."""
    import matplotlib

    matplotlib.rcdefaults()
    matplotlib.use("agg")
    matplotlib.rcParams.update(
        {
            "figure.figsize": (7.2, 4.2),
            "figure.dpi": 110,
            "figure.constrained_layout.use": True,
            "savefig.bbox": "tight",  # titles may be wider than their axes
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlelocation": "left",
            "axes.titlesize": 11,
            "axes.titleweight": "bold",
            # Okabe and Ito's colors, which the color-blind tell apart
            "axes.prop_cycle": matplotlib.cycler(
                color=["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
            ),
            "legend.frameon": False,
            "font.size": 10,
        }
    )


# --- commands --------------------------------------------------------------------


def commands():
    """Return the reference of the command line."""
    group = typer.main.get_command(app)
    lines = ["# Command line", "", "What does each command do, and which options has it?", ""]
    for name in sorted(group.commands):
        command = group.commands[name]
        text = inspect.cleandoc(command.help or "")
        arguments = [_metavar(p) for p in command.params if p.param_type_name == "argument"]
        usage = " ".join([f"crossview {name}", *arguments])
        lines += [f"## {name}", "", "```text", f"{usage} [OPTIONS]", "```", "", _escaped(text), ""]
        for parameter in command.params:
            if parameter.name == "help":
                continue
            lines += [_heading(parameter), f": {_about(parameter)}", ""]
    return "\n".join(lines)


def _metavar(parameter):
    return parameter.metavar or parameter.name.upper()


def _heading(parameter):
    if parameter.param_type_name == "argument":
        return f"`{_metavar(parameter)}`"
    names = [*parameter.opts, *parameter.secondary_opts]
    metavar = "" if parameter.is_flag else f" {_metavar(parameter)}"
    return ", ".join(f"`{name}{metavar}`" for name in names)


def _about(parameter):
    about = _escaped(" ".join((getattr(parameter, "help", None) or "").split()))
    default = parameter.default
    if default in (None, False, True, (), []) or callable(default):
        return about or "As its name says."
    return f"{about} Default: `{default}`."


def _escaped(text):
    """Let the words of a help text mean nothing in Markdown."""
    text = re.sub(r"`([^`]*)`", r"\1", text)
    return re.sub(r"([\\*_<>\[\]#$|~])", r"\\\1", text)


# --- API -------------------------------------------------------------------------


def api():
    """Return the list of all public names, by what they are for."""
    learners = {one.path.partition(":")[2] for one in LEARNERS} & set(crossview.__all__)
    grouped = {"Learners": sorted(learners), **GROUPS}
    named = {"__version__", *(name for names in grouped.values() for name in names)}
    if more := sorted(set(crossview.__all__) - named):
        grouped["More"] = more
    parts = ["# API", "", "All public names are in `crossview`. They load on first use.", ""]
    for title, names in grouped.items():
        parts += [f"## {title}", "", *_summary([f"crossview.{name}" for name in names])]
    parts += ["## Data sets", "", *_summary([f"crossview.datasets.{n}" for n in datasets.__all__])]
    distributed = importlib.import_module("crossview.distributed")
    parts += ["## Several machines", ""]
    parts += _summary([f"crossview.distributed.{n}" for n in distributed.__all__])
    return "\n".join(parts)


def _summary(names):
    return [
        *("```{eval-rst}", ".. autosummary::", "   :toctree: api", "   :nosignatures:", ""),
        *(f"   {name}" for name in names),
        *("```", ""),
    ]


# --- data sets, learners ---------------------------------------------------------


def data_sets():
    """Return the table of the data sets."""
    lines = ["| data set | rows | views | task | MB | license |", "|---|---:|---|---|---:|---|"]
    for one in datasets.known():
        views = ", ".join(one.views)
        size = f"{one.size / 1e6:.2f}" if one.size else ""
        lines.append(
            f"| [{one.name}]({one.page}): {one.what} | {one.n_rows:,} | {views} | {one.task} "
            f"| {size} | {one.license} |"
        )
    return "\n".join([*lines, ""])


def learners():
    """Return the table of the models, as `compare` and `train` call them."""
    lines = ["| `--model` | class | what it is | learns |", "|---|---|---|---|"]
    for one in LEARNERS:
        name = one.path.partition(":")[2]
        learns = "a stream" if one.streams else "all rows at once"
        what = one.title.replace("{metric}", "a metric")
        lines.append(f"| `{one.name}` | {{py:obj}}`~crossview.{name}` | {what} | {learns} |")
    return "\n".join([*lines, ""])


# --- papers ----------------------------------------------------------------------

ROW = re.compile(r"^\| (?P<what>.*?) \| (?P<code>.*?) \| (?P<tests>.*?) \|$", re.MULTILINE)
FUNCTION = re.compile(r"`(crossview\.[\w.]+)`")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def code_beside(text):
    """Return each row of the tables with the source of its functions and of its tests."""
    parts, seen = [], set()
    for row in ROW.finditer(text):
        functions, tests = FUNCTION.findall(row["code"]), TEST.findall(row["tests"])
        blocks = [_include(*_source(name)) for name in functions if name not in seen]
        checks = [_include(*test) for test in tests if test not in seen]
        seen.update(functions, tests)
        if not blocks and not checks:
            continue
        parts += [f"### {_plain(row['what'])}", "", "::::{container} beside"]
        for title, some in (("code", blocks), ("test", checks)):
            if some:
                parts += [f":::{{container}} side {title}", *some, ":::"]
        parts += ["::::", ""]
    return "\n".join(["", "", "## The code and its tests", "", *parts]) if parts else ""


def _plain(words):
    """Return a cell as a heading: without what Markdown would make of it."""
    return words.replace("[", "(").replace("](", " ") if "](" in words else words


def _source(name):
    """Return file and name of a function or class, also where a package passes it on."""
    module, _, attribute = name.rpartition(".")
    thing = getattr(importlib.import_module(module), attribute)
    thing = inspect.unwrap(getattr(thing, "py_func", thing))
    file = Path(inspect.getsourcefile(thing)).resolve()
    return file.relative_to(ROOT).as_posix(), thing.__name__


def _include(file, name):
    return "\n".join(
        [f"```{{literalinclude}} /../{file}", f":pyobject: {name}", f":caption: {file}", "```", ""]
    )
