"""``python -m crossview`` is the command ``crossview``."""

from crossview.cli import process

if __name__ == "__main__":
    process()
