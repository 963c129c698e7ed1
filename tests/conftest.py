"""Where compiled code is cached and where the real data sets lie."""

import hashlib
import os
import tempfile
from pathlib import Path

_package = Path(__file__).parents[1] / "src" / "crossview"


def _compiled_sources() -> str:
    """A hash of everything that the compiled loops are made of.

    Numba's disk cache looks only at the file of the function that it compiles,
    not at those it calls; a folder a version keeps stale machine code away.
    """
    digest = hashlib.sha256()
    for path in sorted(
        [_package / "_jit.py", *_package.glob("kernels/*.py"), *_package.glob("algorithms/*.py")]
    ):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


# before the first import of numba
os.environ.setdefault(
    "NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / f"crossview-numba-{_compiled_sources()}")
)
