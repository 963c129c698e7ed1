"""``python -m crossview`` is the command ``crossview``."""

import sys

from crossview.cli import main

sys.exit(main())
