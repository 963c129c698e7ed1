"""House rules that a reader of the code relies on; each test names the offenders."""

import ast
import re
from inspect import signature
from pathlib import Path

from crossview.cli.app import app
from crossview.cli.options import ARGUMENTS
from package_source import assert_no, imports, modules, nodes, where

MAX_ARGUMENTS = 7
MAX_KERNEL_LINES = 60

# exceptions, by "module.function", each with the reason
MORE_ARGUMENTS: dict[str, str] = {
    "crossview.kernels.lanes._adagrad_steps": "Numba passes an intrinsic its typing context, too",
}
LONGER_KERNELS: dict[str, str] = {}

COMPILED = ("crossview.algorithms", "crossview.kernels")
NAMED_TUPLE = {"_asdict", "_fields", "_field_defaults", "_make", "_replace"}  # public by design


def private(name):
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def definitions(kinds, prefixes=("crossview",)):
    """Yield (module, "module.name", node) for each definition of some kinds."""
    for module in modules():
        if module.startswith(prefixes):
            for node in nodes(module):
                if isinstance(node, kinds):
                    yield module, f"{module}.{node.name}", node


def own_lines(node):
    """The lines of a definition without its docstring."""
    lines = node.end_lineno - node.lineno + 1
    if ast.get_docstring(node) is not None:
        text = node.body[0]
        lines -= text.end_lineno - text.lineno + 1
    return lines


def assert_small(sizes, most, exceptions):
    """Fail with what is over the limit, and with an exception that no longer needs to be one."""
    over = {name: size for name, size in sizes.items() if size > most}
    assert_no(f"{name}: {size} > {most}" for name, size in over.items() if name not in exceptions)
    assert_no(f"{name} is no longer an exception" for name in exceptions.keys() - over.keys())


def test_no_module_imports_an_underscore_name_of_another():
    offenders = [
        f"{where(module, node)}: from {source} import {name}"
        for module in modules()
        for source, name, node in imports(module)
        if source.split(".")[0] == "crossview"
        and private(name or "")
        and f"{source}.{name}" not in modules()  # crossview._jit is a module for all of the package
    ]
    assert_no(offenders)


def names_defined_in(module):
    """The names of functions, and of attributes that the objects of a module are given."""
    for node in nodes(module):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def test_no_module_reads_an_underscore_name_of_another():
    """Neither ``module._name`` nor, outside the estimators, ``learner._name``.

    Estimators share base classes, and a base class's underscore names are those of its
    subclasses too.
    """
    offenders = []
    for module in modules():
        imported = {
            alias.asname or alias.name
            for source, name, node in imports(module)
            for alias in node.names
            if ".".join(filter(None, [source, name])) in modules() and alias.name in (source, name)
        }
        defined = NAMED_TUPLE.union(names_defined_in(module))
        shares = module.startswith("crossview.estimators")
        for node in nodes(module):
            if not (isinstance(node, ast.Attribute) and private(node.attr)):
                continue
            owner = ast.unparse(node.value)
            if (owner, node.attr) == ("os", "_exit"):  # its documented name
                continue
            own = owner in ("self", "cls", "super()") or node.attr in defined
            if owner in imported or not (shares or own):
                offenders.append(f"{where(module, node)}: {owner}.{node.attr}")
    assert_no(offenders)


def test_only_one_file_imports_what_scikit_learn_keeps_private():
    offenders = []
    for module in modules():
        if module == "crossview.estimators.validation":
            continue
        for source, name, node in imports(module):
            path = f"{source}.{name}" if name else source
            if path.startswith("sklearn.") and any(map(private, path.split("."))):
                offenders.append(f"{where(module, node)}: {path}")
        for node in nodes(module):
            if not (isinstance(node, ast.Attribute) and private(node.attr)):
                continue
            path = ast.unparse(node)
            if path.startswith("sklearn."):
                offenders.append(f"{where(module, node)}: {path}")
    assert_no(offenders)


def test_functions_of_equations_take_few_arguments():
    def count(node):
        a = node.args
        named = [arg.arg for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
        return len(named) - (named[:1] in (["self"], ["cls"])) + bool(a.vararg) + bool(a.kwarg)

    sizes = {name: count(node) for _, name, node in definitions(ast.FunctionDef, COMPILED)}
    assert_small(sizes, MAX_ARGUMENTS, MORE_ARGUMENTS)


def test_kernels_are_short():
    def is_compiled(node):
        return any(
            re.match(r"njit|inlined", ast.unparse(decorator)) for decorator in node.decorator_list
        )

    sizes = {
        name: own_lines(node)
        for _, name, node in definitions(ast.FunctionDef, COMPILED)
        if is_compiled(node)
    }
    assert len(sizes) > 20
    assert_small(sizes, MAX_KERNEL_LINES, LONGER_KERNELS)


def test_estimators_do_not_loop_over_rows():
    """Such a loop belongs to algorithms/, where it is compiled."""
    rows = re.compile(r"n_(samples|rows)|len\((X|y|rows|labels)\)|(X|rows)\.shape\[0\]|\.n_rows")
    offenders = [
        f"{where(module, node)}: for ... in {ast.unparse(node.iter)}"
        for module in modules()
        if module.startswith("crossview.estimators")
        for node in nodes(module)
        if isinstance(node, ast.For | ast.comprehension)
        and re.match(r"(range|enumerate|zip)\(", ast.unparse(node.iter))
        and rows.search(ast.unparse(node.iter))
    ]
    assert_no(offenders)


# arguments of learners, of Python alone and of addresses, which are options of no command
NO_OPTIONS = (
    "crossview.estimators",
    "crossview.compat",
    "crossview.serving",
    "crossview.distributed.fitting",
    "crossview.distributed.svm",
    "crossview.training.log",
)


def test_errors_do_not_write_out_arguments_that_are_options():
    names = {name for one in app.registered_commands for name in signature(one.callback).parameters}
    options = {ARGUMENTS.get(name, name) for name in names} - {"dialect"}
    written = re.compile(rf"(?<![\w'-])({'|'.join(sorted(options))})=(?!=)")
    found = [
        f"{where(module, text)}: {text.value}"
        for module in modules()
        if not module.startswith(NO_OPTIONS)
        for call in nodes(module)
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "InputError"
        for text in ast.walk(call)
        if isinstance(text, ast.Constant) and written.search(str(text.value))
    ]
    assert_no(found)


def test_the_slow_tests_are_listed_by_their_names():
    tests = Path(__file__).parent
    listed = (tests / "slow.txt").read_text().splitlines()
    assert listed == sorted(set(listed))
    for name in listed:
        file, _, function = name.partition("::")
        assert f"\ndef {function}(" in (tests.parent / file).read_text(), name
