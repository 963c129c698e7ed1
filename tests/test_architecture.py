"""docs/architecture.md, enforced: imports go one way, without a cycle, and load little."""

import ast
import subprocess
import sys

from package_source import assert_no, imported_modules, modules, nodes, where

# what each part of the package may import of the others, besides itself
VERBS = {"comparing", "training", "predicting", "evaluating", "describing", "converting"}
VERBS |= {"serving", "exporting"}
# from a source to labeled rows of views: none of these knows a model
ROWS = ("tables", "readers", "encoding", "data")
BELOW_VERBS = {
    *("errors", "labels", "lazily", "compiling", "jobs", "views", "batch", "estimators"),
    *(*ROWS, "server_log"),
    *("catalog", "saving", "scoring", "baselines", "portable", "crossview"),
}
MAY_IMPORT = {
    "errors": set(),
    "labels": {"errors"},
    "lazily": set(),
    "compiling": set(),
    "jobs": {"errors", "lazily", "compiling"},
    "_jit": set(),
    "catalog": {"errors"},
    "saving": {"errors", "labels", "catalog", "pipeline"},
    "views": {"errors"},
    "kernels": {"_jit"},
    "algorithms": {"_jit", "kernels"},
    "batch": {"errors", "views", "kernels"},
    "portable": set(),
    "estimators": {
        *("errors", "labels", "saving", "views", "portable", "jobs"),
        *("_jit", "batch", "kernels", "algorithms"),
    },
    "merging": {"errors", "estimators", "pipeline"},
    "pipeline": {"errors", "catalog"},
    "compat": {"errors", "crossview", "scoring", "predicting"},
    "datasets": {"errors", "saving", "views"},
    "tables": {"errors", "labels", "saving", "views"},
    "server_log": {"errors"},
    "readers": {
        *("errors", "labels", "catalog", "saving", "views", "kernels"),
        *("tables", "server_log"),
    },
    "encoding": {
        *("errors", "labels", "catalog", "saving", "views", "portable"),
        *("_jit", "kernels", "batch", "tables", "readers"),
    },
    "data": {
        *("errors", "labels", "catalog", "saving", "views"),
        *("batch", "tables", "readers", "encoding"),
    },
    "scoring": {
        *("errors", "labels", "compiling", "jobs", "catalog", "saving", "views"),
        *("batch", "estimators", *ROWS),
        "algorithms",  # what identifiers are worth: target statistics
    },
    "baselines": {
        *("errors", "labels", "jobs", "catalog", "saving", "views", "portable"),
        *("kernels", "batch", "estimators", *ROWS),
    },
    **dict.fromkeys(VERBS, BELOW_VERBS),  # a verb imports no other: what two share goes down
    "comparing": BELOW_VERBS | {"algorithms"},  # the blend of held-out predictions
    "distributed": BELOW_VERBS | {"merging", "training", "evaluating"},
    "reporting": BELOW_VERBS | VERBS,
    "cli": BELOW_VERBS | VERBS | {"datasets", "reporting", "distributed"},
    "crossview": {"catalog"},  # public names load on first use
    "__main__": {"cli"},
}


def part(module):
    """The first level below crossview; the package itself is "crossview"."""
    return module.split(".")[min(1, module.count("."))]


def test_imports_go_one_way():
    assert_no(
        f"{module} imports {other}"
        for module in modules()
        for other in imported_modules(module)
        if other != "crossview"  # its version
        and part(other) not in {part(module), *MAY_IMPORT[part(module)]}
    )


def test_imports_have_no_cycle():
    """Also not through an import inside a function, which only puts the cycle off."""
    assert_no_cycle({m: set(imported_modules(m)) - {m} for m in modules()})
    assert_no_cycle({room: others - {room} for room, others in MAY_IMPORT.items()})


def assert_no_cycle(graph):
    while leaves := {m for m, others in graph.items() if not others & graph.keys()}:
        graph = {m: others for m, others in graph.items() if m not in leaves}
    # what imports a cycle without being imported from it is not part of it
    while graph and (
        roots := {m for m in graph if not any(m in others for others in graph.values())}
    ):
        graph = {m: others for m, others in graph.items() if m not in roots}
    assert_no(f"{m} imports {o}" for m, others in graph.items() for o in others & graph.keys())


def test_importing_the_package_loads_nothing_heavy():
    script = (
        "import sys, crossview\n"
        "heavy = {'numba', 'sklearn', 'pyarrow', 'duckdb', 'scipy', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert 'MultiViewPAClassifier' in dir(crossview)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_only_the_command_line_prints():
    assert_no(
        where(module, node)
        for module in modules()
        if part(module) not in ("cli", "__main__")
        for node in nodes(module)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
    )
