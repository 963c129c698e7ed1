"""The commands, one module each: options to library calls, results to text.

Each imports what it needs, so that none waits for what only another one needs.
"""

from crossview.cli.lazily import load_lazily

for _name in ("scipy.stats", "pandas"):
    load_lazily(_name)
