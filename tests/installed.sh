#!/bin/sh
# Install a wheel or an sdist into an environment of its own, by pip or by uv, and use what it installed.
# PYTHON=python3.13 sh tests/installed.sh dist/crossview-0.1.0-py3-none-any.whl [uv]
set -eu
file=$(realpath "$1")
tool=${2:-pip}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv venv
PATH="$folder/venv/bin:$PATH"
add() {
    case $tool in
    uv) uv pip install --quiet --python venv/bin/python "$1" ;;
    *) pip install --quiet --disable-pip-version-check "$1" ;;
    esac
}
add "$file[cli]"

python -c 'import crossview, sys; assert crossview.__file__.startswith(sys.prefix), crossview.__file__'
crossview --version
crossview datasets breast-cancer -o tumors.parquet
# without the extra that draws, an option that needs it names it before it reads a row
if crossview compare tumors.parquet --label diagnosis --report report.html 2>refused.txt; then exit 1; fi
grep -q "pip install 'crossview\[report\]'" refused.txt
crossview compare tumors.parquet --label diagnosis --budget 20s >compare.txt
add "$file[report]"
crossview train tumors.parquet --label diagnosis -o model.safetensors
crossview predict model.safetensors tumors.parquet -o predictions.csv
crossview evaluate model.safetensors tumors.parquet --report report.html >evaluate.txt
test "$(wc -l <predictions.csv)" -eq 570
grep -q '<html' report.html
echo "$(basename "$file"): installed by $tool for $(python --version), and every command works"
