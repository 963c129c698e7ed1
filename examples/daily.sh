# A week of a stream: what docs/daily.md shows, with `crossview` on the PATH.
#
#     sh examples/daily.sh ml-100k
#
# writes into the folder daily.  Day by day the rows are predicted, their labels come a day later,
# the predictions are evaluated, and the model goes on.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python "$here/days.py" "${1:?the folder of MovieLens-100k}" daily
cd daily
step() {
    printf '\n$ %s\n' "$*"
    "$@"
}
columns='--categorical user__id,item__id --text item__genres'

# what do the columns hold, and what is best?
step crossview describe history.parquet --label liked $columns
step crossview compare history.parquet --label liked $columns --metric roc_auc --in-order

# the first model: the run is killed, and goes on
first="crossview train history.parquet --label liked $columns --metric roc_auc --in-order -o model.st"
kept='--checkpoint run.st --every 0s --resume'
printf '\n$ %s &\n$ kill -9 $!\n' "$first $kept"
$first $kept &
while [ ! -e run.st ]; do sleep 0.1; done
kill -9 $!
wait $! || true
step $first $kept
cp model.st old.st

for day in 1 2 3 4 5 6 7; do
    # in the morning
    step crossview predict model.st day$day.parquet --keep id --explain 2 -o log$day.parquet
    # in the evening
    step crossview evaluate model.st day$day.parquet --join labels$day.csv --json report$day.json
    step crossview evaluate old.st day$day.parquet --join labels$day.csv --json old$day.json
    step crossview train day$day.parquet --join labels$day.csv --init model.st --in-order -o model.st
done
step crossview inspect model.st --top 3 --weights weights.parquet
