"""``python -m crossview.catalog`` writes ``__init__.pyi``: the public names for type checkers."""

from pathlib import Path

from crossview.catalog import public_names


def stub() -> str:
    """Return the content of ``__init__.pyi``."""
    imports = [f"from {module} import {name} as {name}" for name, module in public_names().items()]
    head = "# Written by `python -m crossview.catalog`: the public names, for type checkers.\n"
    return "\n".join([head, *sorted(imports), "", "__version__: str", ""])


if __name__ == "__main__":
    Path(__file__).parents[1].joinpath("__init__.pyi").write_text(stub(), encoding="utf-8")
