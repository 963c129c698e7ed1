# Everything starts here. Needs python3 (3.11 or newer) and a network that
# reaches a package index.  All paths are relative, so the checkout may lie
# anywhere, also in a folder with a space in its name.
PYTHON ?= python3
VENV := .venv/bin/python

# what `make release` tries wheel and sdist with
PYTHONS ?= python3.11 python3.12 python3.13 python3.14

# how long `make fuzz` goes on
FUZZ_SECONDS ?= 600

.PHONY: help demo test test-slow test-all lint types pytest pytest-all fuzz bench docs papers release clean

help:
	@echo "make demo      install, write a table with three views, compare, train, predict, serve"
	@echo "make test      install, then lint, types and four tests of five, in minutes"
	@echo "make test-slow the fifth, which takes longest: the gate of a change has both"
	@echo "make test-all  lint, types and all tests, with whole grids and runs without the compiler"
	@echo "make fuzz      damaged model files, odd tables and commands for ten minutes"
	@echo "make bench     install the peers, measure, rewrite docs/benchmarks.md and docs/scale.md"
	@echo "make papers    the papers' tables and figures, run again; rewrites docs/papers/results.md"
	@echo "make docs      the site, with its gallery, into docs/_build/html; it needs no network"
	@echo "make release   wheel and sdist of the last tag, tried in clean environments of each Python here"
	@echo "make clean     remove the environment and what the demo wrote"

# One environment; a stamp a set of extras, remade when pyproject.toml changes.
.venv/created:
	$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(None if v >= (3, 11) else f"Crossview needs Python 3.11 or newer, and this is {v.major}.{v.minor}: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv
	touch $@

.venv/installed-%: .venv/created pyproject.toml
	$(VENV) -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	$(VENV) -m compileall -q src
	touch $@

demo: .venv/installed-report,serve
	PATH="$(CURDIR)/.venv/bin:$$PATH" sh examples/demo.sh

test: .venv/installed-dev lint types pytest

lint: .venv/installed-dev
	$(VENV) -m ruff check .
	$(VENV) -m ruff format --check .

types: .venv/installed-dev
	$(VENV) -m mypy

test-all: .venv/installed-dev lint types pytest-all

# A file stays with one worker, so that the two seldom compile the same loop. In the order of names:
# that of xdist leaves files with few slow tests, such as servers that are killed, to the end.
PYTEST := $(VENV) -m pytest -n 2 --dist loadfile --no-loadscope-reorder

pytest: .venv/installed-dev
	$(PYTEST) -m "not slow and not exhaustive"

test-slow: .venv/installed-dev
	$(PYTEST) -m "slow and not exhaustive"

pytest-all: .venv/installed-dev
	$(PYTEST) -m ""

# A new seed each time, which is printed with what failed; a part of it without the compiler, which
# tells an index out of range from one that happens to hit memory of the process.
fuzz: .venv/installed-dev
	seed=$$(date +%s); for what in models.py "models.py --plain" tables.py rows.py commands.py; do echo "$$what"; $(VENV) fuzz/$$what --seed $$seed --seconds $$(($(FUZZ_SECONDS) / 5)) || exit 1; done

bench: .venv/installed-dev .venv/installed-bench
	$(VENV) -m benchmarks speed --write

papers: .venv/installed-dev .venv/installed-bench
	$(VENV) -m benchmarks papers --write

# A warning is an error: a broken link, a name that does not exist, an example that fails.
docs: .venv/installed-docs
	$(VENV) -m sphinx -W --keep-going -q -j 2 -b html docs docs/_build/html
	$(VENV) docs/check.py docs/_build/html

# The version is the tag; what is not committed would be in neither.
release: .venv/created
	test -z "$$(git status --porcelain)" || { echo "commit or remove what git status shows"; exit 1; }
	rm -rf dist
	$(VENV) -m pip install --quiet --disable-pip-version-check build twine uv
	$(VENV) -m build --outdir dist
	$(VENV) -m twine check --strict dist/*
	for python in $(PYTHONS); do \
		$$python -c '' 2>/dev/null || { echo "$$python is not here, so it is not tried"; continue; }; \
		PYTHON=$$python sh tests/installed.sh dist/*.whl pip || exit 1; \
		PATH="$(CURDIR)/.venv/bin:$$PATH" PYTHON=$$python sh tests/installed.sh dist/*.tar.gz uv || exit 1; \
	done
	@git describe --exact-match --tags >/dev/null 2>&1 || echo "This commit has no tag, so its version cannot be published: git tag v0.1.0"
	@echo "To publish: $(VENV) -m twine upload dist/*"

clean:
	rm -rf .venv demo docs/_build docs/_generated
