"""What the tests of architecture and conventions read: the package as syntax trees."""

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "crossview"


@cache
def modules():
    """The syntax tree of every module of the package, by its dotted name."""
    trees = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        trees[name] = ast.parse(path.read_text(), str(path))
    return trees


@cache
def nodes(module):
    """All nodes of the syntax tree of a module."""
    return list(ast.walk(modules()[module]))


def is_package(module):
    """Whether a module of ours is the ``__init__`` of a folder."""
    return PACKAGE.parent.joinpath(*module.split("."), "__init__.py").is_file()


def imports(module, *, for_types=True):
    """Yield (module, name or None, node) for each import of a module, wherever it stands.

    ``for_types=False`` leaves out those under ``if TYPE_CHECKING``: they never run.
    """
    own = nodes(module)
    if not for_types:
        unused = {
            one
            for node in own
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            for part in node.body
            for one in ast.walk(part)
        }
        own = [node for node in own if node not in unused]
    for node in own:
        if isinstance(node, ast.Import):
            yield from ((alias.name, None, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(module, node)
            yield from ((source, alias.name, node) for alias in node.names)


def _absolute(module, node):
    if not node.level:
        return node.module
    parts = module.split(".")
    base = parts[: len(parts) - node.level + is_package(module)]
    return ".".join([*base, *([node.module] if node.module else [])])


@cache
def imported_modules(module, **options):
    """The modules of ours that a module imports; ``from package import module`` is the latter."""
    return tuple(
        whole if (whole := f"{source}.{name}") in modules() else source
        for source, name, _ in imports(module, **options)
        if source.split(".")[0] == "crossview"
    )


def where(module, node):
    """``module:line``, to be read in a failing test."""
    return f"{module}:{node.lineno}"


def assert_no(offenders):
    """Fail with one offender per line."""
    if offenders := sorted(offenders):
        pytest.fail("\n".join([f"{len(offenders)} offenders:", *offenders]), pytrace=False)
