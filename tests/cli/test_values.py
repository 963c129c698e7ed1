"""Values of options are those of typer, without what it loads for them."""

import subprocess
import sys
from typing import Annotated

import pytest
import typer
from typer.core import TyperCommand, TyperGroup

from crossview.cli.values import Command, Group


def called(command, group, arguments):
    """What the function of a command is given, or what is wrong."""
    app = typer.Typer(cls=group)

    @app.command(cls=command)
    def run(
        source: list[str],
        whole: int = 3,
        share: float | None = None,
        name: Annotated[str, typer.Option(callback=lambda value: value.upper())] = "x",
        view: list[str] | None = None,
        order: bool | None = None,
        once: bool = False,
    ):
        return {**locals()}

    @app.callback()
    def program():
        """Nothing."""

    try:
        return typer.main.get_command(app).main(
            ["run", *arguments], prog_name="program", standalone_mode=False
        )
    except Exception as error:
        return type(error).__name__, error.format_message()


WORDS = ["5", "+5", "-3", "007", "5.0", "1e3", "1E-3", ".5", "5.", "1_000", " 7 ", "٣", "nan"]
WORDS += ["inf", "", "x", "true", "0x1f", "1e999", "9" * 30]


@pytest.mark.parametrize("option", ["whole", "share", "name", "view"])
@pytest.mark.parametrize("word", WORDS)
def test_a_value_is_what_typer_makes_of_it(option, word):
    arguments = ["a", f"--{option}", word]
    assert repr(called(Command, Group, arguments)) == repr(
        called(TyperCommand, TyperGroup, arguments)
    )


@pytest.mark.parametrize(
    "arguments",
    ["a", "a b c", "", "a --order", "a --no-order --once", "a --view u --view v", "a --nothing"],
)
def test_arguments_and_flags_are_what_typer_makes_of_them(arguments):
    given = arguments.split()
    assert called(Command, Group, given) == called(TyperCommand, TyperGroup, given)


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "absent.csv", "--label", "y", "--epochs", "2", "--view", "a=b", "-o", "m"],
        ["compare", "absent.csv", "--label", "y", "--rope", "0.1", "--progressive"],
        ["--version"],
    ],
)
def test_a_command_loads_no_pydantic(arguments):
    script = (
        f"import sys\nfrom crossview.cli import main\nmain({arguments!r})\n"
        "assert 'typer' in sys.modules\n"
        "assert not {name for name in sys.modules if name.startswith('pydantic')}\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
