"""Memory that is freed between the fits of a comparison."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
import numpy as np
from pathlib import Path
from crossview.jobs.allocator import give_back
if sys.argv[1] == "give back":
    give_back()
def resident():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
np.ones(3_500_000)  # freed; glibc takes it that arrays up to this size come and go
before = resident()
arrays = [np.ones(250_000) for _ in range(60)]  # 120 MB
arrays = arrays[1::2] + [np.ones(200_000) for _ in range(1)]
print(resident() - before)
"""


def grown(how):
    """kB that a process has more when it holds 60 MB of arrays, after it held twice as many."""
    command = [sys.executable, "-c", PROGRAM, how]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="of the C library of Linux")
def test_what_is_freed_goes_back():
    assert grown("give back") < 75_000
    assert grown("keep") > 100_000
