"""Check the built site: links inside it lead somewhere, and no page loads anything from elsewhere.

python docs/check.py docs/_build/html
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# what a browser fetches by itself; a link is followed by a person
LOADED = {
    *(("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("video", "src")),
    *(("link", "href"), ("object", "data"), ("embed", "src")),
}
NOT_LOADED = {"canonical", "index", "search", "next", "prev", "up", "author", "help", "copyright"}


class Page(HTMLParser):
    """The anchors of a page, what it loads, and where its links lead."""

    def __init__(self, file):
        super().__init__()
        self.anchors, self.loads, self.links = set(), [], []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        own = dict(attrs)
        self.anchors.update(filter(None, (own.get("id"), own.get("name"))))
        if tag == "a" and own.get("href"):
            self.links.append(own["href"])
        for of, name in LOADED:
            rels = set((own.get("rel") or "").split())
            if tag == of and own.get(name) and not rels & NOT_LOADED:
                self.loads.append(own[name])


def problems(root):
    """Yield what is wrong, a line each."""
    pages = {file.resolve(): Page(file) for file in root.rglob("*.html")}
    for file, page in pages.items():
        where = file.relative_to(root.resolve())
        for target in page.loads:
            if urlsplit(target).scheme not in ("", "data"):
                yield f"{where}: loads {target}"
        for target in page.links + page.loads:
            parts = urlsplit(target)
            if parts.scheme in ("http", "https"):
                if not parts.netloc or " " in target:
                    yield f"{where}: no address: {target}"
                continue
            if parts.scheme or target == "#":
                continue
            to = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not to.exists():
                yield f"{where}: no file: {target}"
            elif (
                parts.fragment and to in pages and unquote(parts.fragment) not in pages[to].anchors
            ):
                yield f"{where}: no such anchor: {target}"
    for style in root.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        if "@import" in text or "url(http" in text or "url(//" in text:
            yield f"{style.relative_to(root)}: loads from elsewhere"


if __name__ == "__main__":
    root = Path(sys.argv[1])
    found = sorted(set(problems(root)))
    size = sum(file.stat().st_size for file in root.rglob("*") if file.is_file()) / 1e6
    print(*found, sep="\n")
    print(f"{len(list(root.rglob('*.html')))} pages, {size:.0f} MB, {len(found)} problems")
    sys.exit(bool(found))
