"""Return of freed memory to the system."""

from __future__ import annotations

import ctypes
import sys

# of glibc's malloc.h
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
# bytes: larger arrays have pages of their own, and more than so much is not kept at the end
LEAST_OF_OWN_PAGES, MOST_KEPT = 1 << 18, 1 << 20


def give_back() -> None:
    """Let the C library give memory back that was freed, from now on; elsewhere than Linux nothing.

    Otherwise its threshold for that grows to 32 MB with the arrays that are freed, and between fits
    of different sizes half of the memory of a process is holes.

    >>> from crossview.jobs.allocator import give_back
    >>> give_back()
    """
    if not sys.platform.startswith("linux"):
        return
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):  # that of musl has none
        library.mallopt(M_MMAP_THRESHOLD, LEAST_OF_OWN_PAGES)
        library.mallopt(M_TRIM_THRESHOLD, MOST_KEPT)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)
