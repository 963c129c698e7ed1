#!/bin/sh
# Install a wheel or an sdist into an environment of its own, and use what it installed.
# sh tests/installed.sh dist/crossview-0.1.0-py3-none-any.whl
set -eu
file=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv venv
PATH="$folder/venv/bin:$PATH"
pip install --quiet --disable-pip-version-check "$file[cli]"

python -c 'import crossview, sys; assert crossview.__file__.startswith(sys.prefix), crossview.__file__'
crossview --version
crossview datasets breast-cancer -o tumors.parquet
crossview compare tumors.parquet --label diagnosis --budget 20s --report report.html >compare.txt
crossview train tumors.parquet --label diagnosis -o model.safetensors
crossview predict model.safetensors tumors.parquet -o predictions.csv
crossview evaluate model.safetensors tumors.parquet >evaluate.txt
test "$(wc -l <predictions.csv)" -eq 570
grep -q '<html' report.html
echo "$(basename "$file"): installed, and every command works"
