#!/bin/sh
# From a table with several views to an answer, a model and predictions.
# Writes to the folder demo/; run it with `make demo`, or where crossview is installed.
set -eu
cd "$(dirname "$0")/.."

# show a command as it could be typed, then run it
run() {
    printf '\n$ %s\n' "$*"
    "$@"
}

mkdir -p demo

# 569 tumors; ten measures of the cell nuclei in three views: their mean, error and worst value
run crossview datasets breast-cancer -o demo/breast-cancer.parquet

# which way of using the views is best, and by how much?
run crossview compare demo/breast-cancer.parquet --label diagnosis --json demo/comparison.json

# train the winner on all rows, with the parameters that were chosen most often
options=$(python3 -c 'import json, shlex; print(shlex.join(json.load(open("demo/comparison.json"))["train_options"]))')
train="crossview train demo/breast-cancer.parquet --label diagnosis $options -o demo/model.safetensors"
printf '\n$ %s\n' "$train"
eval "$train" # the members of an ensemble are quoted

# score rows; here those it has learned, to keep the demo short
run crossview predict demo/model.safetensors demo/breast-cancer.parquet -o demo/predictions.csv
run head -n 5 demo/predictions.csv
run crossview inspect demo/model.safetensors --top 3

# serve a model that begins with nothing: each row is predicted, and learned when its label comes
if python3 -c 'import uvicorn, msgspec' 2>/dev/null; then
    rm -rf demo/live
    printf '\n$ python3 examples/live.py demo/breast-cancer.parquet diagnosis demo/live\n'
    python3 examples/live.py demo/breast-cancer.parquet diagnosis demo/live
    # the log again, from the start: the same bits
    run crossview replay demo/live
fi

# `make demo` installs into .venv; a command that is on the PATH already needs no word
if [ -f .venv/bin/activate ]; then
    printf '\nTo go on, type:\n. .venv/bin/activate\ncrossview describe YOUR.csv --label COLUMN\n'
fi
