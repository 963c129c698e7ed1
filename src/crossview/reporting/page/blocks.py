"""Building blocks of a page: sections of text, tables and pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from crossview.errors import InputError
from crossview.reporting.svg import svg_of


@dataclass(frozen=True)
class Block:
    """A part of a section.

    kind {"text", "lines", "table", "figure", "code", "fold"}: what it is.
    title: of a table or picture, in a sentence.
    text: what it says; of a picture, how to read it.
    lines: points of a list.
    header, rows: of a table; a cell is text, or text and a share from 0 to 1 that shades it.
    texts: so many first columns are text, and the others numbers.
    long: whether each row ends with long text, which has no header and a line of its own.
    marked, ends: rows in bold, and rows after which a line is drawn.
    svg: the picture, as safe HTML.
    blocks: what a fold hides until it is opened.
    """

    kind: str
    title: str = ""
    text: str = ""
    lines: Sequence[str] = ()
    header: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    texts: int = 1
    long: bool = False
    marked: frozenset[int] = frozenset()
    ends: frozenset[int] = frozenset()
    svg: str = ""
    blocks: list[Block] = field(default_factory=list)


@dataclass
class Section:
    """A part of a page of which the title is seen, until it is opened.

    key: its anchor.
    blocks: what it shows; a section without blocks is left out.
    finding: what is to be seen inside, in a few words.  Empty: the title of its first picture.
    opened: whether it is shown without being opened.
    """

    key: str
    title: str
    blocks: list[Block] = field(default_factory=list)
    finding: str = ""
    opened: bool = False

    @property
    def summary(self) -> str:
        """Return the summary beside the title."""
        titles = [block.title for block in self.blocks if block.kind == "figure"]
        return self.finding or next(iter(titles), "")


def group(blocks: Sequence[Block]) -> list[list[Block]]:
    """Return blocks with pictures and tables that follow each other together."""
    found: list[list[Block]] = []
    side = ("figure", "table")  # by side, where there is room
    for block in blocks:
        if found and block.kind in side and found[-1][0].kind in side:
            found[-1].append(block)
        else:
            found.append([block])
    return found


@dataclass
class Page:
    """A page: the answer on the first screen, and all else in sections behind their titles.

    title: what it is about.
    question, answer: each a plain sentence.
    facts: the most important numbers, in a few words each: 3,000 rows.
    more: what else the answer says, a sentence each.
    pictures: the answer as pictures and tables.
    actions: what to do now.
    doubts: what could be wrong, a sentence each.
    detail: what else is known of it, for who wants to know how sure it is.
    """

    title: str
    question: str
    answer: str
    facts: list[str] = field(default_factory=list)
    more: list[str] = field(default_factory=list)
    pictures: list[Block] = field(default_factory=list)
    actions: list[Block] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    detail: list[str] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)


def text(words: str) -> Block:
    """Return a paragraph."""
    return Block("text", text=words)


def lines(points: Iterable[str]) -> list[Block]:
    """Return a list, if there are points."""
    points = list(points)
    return [Block("lines", lines=points)] if points else []


def table(header: Sequence[str], rows: Sequence[Sequence[Any]], **more: Any) -> Block:
    """Return a table."""
    return Block("table", header=header, rows=rows, **more)


def code(title: str, command: str) -> Block:
    """Return a command below a line that says what it does."""
    return Block("code", title=title, text=command)


def fold(title: str, *blocks: Block) -> list[Block]:
    """Return blocks behind a title that opens them, if there are any."""
    return [Block("fold", title=title, blocks=list(blocks))] if blocks else []


def figures(*wanted: tuple[str, Callable[[], Any], str]) -> list[Block]:
    """Return those pictures that the result can give: key, display and how to read it."""
    found = []
    for key, make, how in wanted:
        try:
            display = make()
        except InputError:  # the result has not kept what it needs
            continue
        picture = svg_of(display, key)
        found.append(Block("figure", title=display.title, text=how, svg=picture))
    return found
