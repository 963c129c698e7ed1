"""The layout shows the architecture: imports go one way only."""

import ast
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "crossview"

# what each part may import of the others, besides itself
MAY = {
    "errors": set(),
    "_jit": set(),
    "views": {"errors"},
    "labels": set(),
    "kernels": {"_jit"},
    "algorithms": {"_jit", "kernels"},
    "batch": {"errors", "views", "kernels"},
    "estimators": {"errors", "labels", "views", "batch", "kernels", "algorithms"},
    "streams": {"errors", "views", "_jit"},
    "datasets": {"errors", "views"},
    "persistence": {"errors", "estimators", "streams"},
    "evaluation": {"errors", "labels", "views", "estimators", "streams"},
    "report": {"errors", "evaluation"},
    "cli": {
        "errors",
        "labels",
        "views",
        "estimators",
        "streams",
        "datasets",
        "persistence",
        "evaluation",
        "report",
    },
    "__init__": set(),  # resolved lazily
    "__main__": {"cli"},
}


def part(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path):
    """The parts of crossview that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "crossview":
            if node.module == "crossview":
                yield from (alias.name for alias in node.names)
            else:
                yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("crossview."):
                    yield alias.name.split(".")[1]


def test_imports_go_one_way():
    files = list(PACKAGE.rglob("*.py"))
    assert len(files) > 10
    for path in files:
        for other in imported(path):
            if other in ("__version__",):
                continue
            assert other == part(path) or other in MAY[part(path)], f"{path} imports {other}"


def test_the_package_itself_loads_nothing_heavy():
    script = (
        "import sys, crossview\n"
        "heavy = {'numba', 'sklearn', 'pyarrow', 'duckdb', 'scipy', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert 'MultiViewPAClassifier' in dir(crossview)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_only_the_command_line_prints():
    for path in PACKAGE.rglob("*.py"):
        if part(path) in ("cli", "__main__"):
            continue
        calls = [
            node
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
        ]
        assert not calls, path
