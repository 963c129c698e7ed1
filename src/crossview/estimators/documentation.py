"""Parameters that are declared and documented once.

Learners share most of their parameters.  `with_parameters` makes the constructor of a class from
the parameters that it declares and those of its base classes.  Its docstring documents only its
own; `document_parameters` adds the others from a table, in the order and with the defaults of the
signature.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping
from textwrap import dedent, indent
from typing import Any, TypeVar, dataclass_transform

Documented = TypeVar("Documented", bound=Callable)
Class = TypeVar("Class", bound=type)

# name -> (type, description); the default comes from the signature
ParameterDoc = tuple[str, str]

_SECTION = re.compile(r"Parameters\n-+(.*?)(?=\n\n\S[^\n]*\n-{3,}\n|\Z)", re.DOTALL)
_FIRST_SECTION = re.compile(r"^\S[^\n]*\n-{3,}$|\Z", re.MULTILINE)
_NAMES_ONLY = re.compile(r"^\w+(?:, \w+)*,?$", re.MULTILINE)
_ENTRY = re.compile(r"^(\S[^\n]*(?:\n(?:[ ]+[^\n]*|))*)", re.MULTILINE)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(dataclasses.field,))
def with_parameters(cls: Class) -> Class:
    """Make the constructor of a class from its annotated attributes, which are its parameters.

    They are keywords, but for ``views``; those of the class come before those of its bases.

    Examples
    --------
    >>> from crossview.estimators.documentation import with_parameters
    >>> @with_parameters
    ... class Learner:
    ...     C: float = 1.0
    >>> @with_parameters
    ... class Other(Learner):
    ...     r: float = 2.0
    >>> import inspect
    >>> inspect.signature(Other)
    <Signature (*, r: 'float' = 2.0, C: 'float' = 1.0) -> None>
    """
    own = [name for kind in cls.__mro__ for name in inspect.get_annotations(kind)]
    dataclasses.dataclass(kw_only=True, eq=False, repr=False, match_args=False)(cls)
    init: Any = cls.__init__  # type: ignore[misc]
    signature = inspect.signature(init)
    this, *given = signature.parameters.values()
    given.sort(key=lambda one: (one.kind, own.index(one.name)))
    init.__signature__ = signature.replace(parameters=[this, *given])
    return cls


def described(text: str) -> dict[str, ParameterDoc]:
    r"""Return a table of entries that are written as in a docstring.

    Examples
    --------
    >>> from crossview.estimators.documentation import described
    >>> described("C : float\n    Aggressiveness.")
    {'C': ('float', 'Aggressiveness.')}
    """
    found = {}
    for entry in _ENTRY.findall(dedent(text)):
        head, _, description = entry.partition("\n")
        name, _, kind = head.partition(" : ")
        found[name] = kind, dedent(description).rstrip()
    return found


def document_parameters(
    *tables: Mapping[str, ParameterDoc], attributes: Mapping[str, ParameterDoc] | None = None
) -> Callable[[Documented], Documented]:
    r"""Complete the ``Parameters`` section of a class or a function from tables, or add it.

    A table has the type and the description of each parameter.  A later table overrides an earlier
    one, and the docstring overrides all of them.  ``attributes`` has the entries for those lines of
    the ``Attributes`` section that are names, with commas between.  Raises ``TypeError`` if the
    section and the signature have not the same parameters.

    Examples
    --------
    >>> from crossview.estimators.documentation import document_parameters
    >>> @document_parameters({"C": ("float", "Aggressiveness.")})
    ... class Learner:
    ...     '''A learner.'''
    ...     def __init__(self, *, C=1.0): ...
    >>> print(*Learner.__doc__.splitlines()[-2:], sep="\n")
    C : float, default=1.0
        Aggressiveness.
    """
    shared: dict[str, ParameterDoc] = {}
    for table in tables:
        shared.update(table)

    def decorate(cls: Documented) -> Documented:
        if cls.__doc__ is None:  # python -OO
            return cls
        text = inspect.cleandoc(cls.__doc__)
        if not (section := _SECTION.search(text)):
            at = next(_FIRST_SECTION.finditer(text)).start()
            text = f"{text[:at].rstrip()}\n\nParameters\n----------\n\n{text[at:]}"
            section = _SECTION.search(text)
        assert section is not None
        own = {name: entry for entry in _ENTRY.findall(section[1]) for name in _names(entry)}
        parameters = inspect.signature(cls).parameters
        unknown = set(own) - set(parameters)
        if unknown:
            raise TypeError(f"{cls.__name__} documents {unknown}, which are not parameters of it")
        entries = dict.fromkeys(  # one entry for "C, gamma : float"
            own[name].rstrip() if name in own else _entry(cls, parameter, shared)
            for name, parameter in parameters.items()
        )
        complete = "Parameters\n----------\n" + "\n".join(entries)
        text = text[: section.start()] + complete + text[section.end() :]
        text = _NAMES_ONLY.sub(lambda line: _documented(line[0], attributes or {}), text)
        cls.__doc__ = text + "\n"  # numpydoc wants the closing quotes on a line of their own
        return cls

    return decorate


def _names(entry: str) -> list[str]:
    """Return the names that an entry such as ``C, r : float`` documents."""
    head = entry.partition("\n")[0].partition(" : ")[0]
    return [name.strip() for name in head.split(",")]


def _documented(line: str, attributes: Mapping[str, ParameterDoc]) -> str:
    """Return the entries of the attributes that a line names, or the line if it names none."""
    names = line.rstrip(",").split(", ")
    if not all(name in attributes for name in names):
        return line
    return "\n".join(_with_description(name, *attributes[name]) for name in names)


def _with_description(name: str, kind: str, description: str) -> str:
    return f"{name} : {kind}\n{indent(inspect.cleandoc(description), '    ')}"


def _entry(
    cls: Callable, parameter: inspect.Parameter, shared: Mapping[str, tuple[str, str]]
) -> str:
    """Return the entry of a shared parameter, with the default of this signature."""
    if parameter.name not in shared:
        raise TypeError(f"the parameter {parameter.name!r} of {cls.__name__} is not documented")
    kind, description = shared[parameter.name]
    default: Any = parameter.default
    if default is not inspect.Parameter.empty:
        kind = f"{kind}, default={default!r}"
    return _with_description(parameter.name, kind, description)
