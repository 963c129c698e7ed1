"""The commands, one module each: options to library calls, results to text.

Each imports what it needs, so that none waits for what only another one needs.
"""

from crossview.lazily import load_scikit_learn

load_scikit_learn()
