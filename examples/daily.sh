# A week of a stream, as docs/daily.md tells it.  Needs `crossview` on the PATH.
#
#     sh examples/daily.sh
#
# writes into the folder daily.  Day by day the rows are predicted in the morning; in the evening
# their labels are there, the predictions are evaluated, and the model goes on.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python "$here/days.py" daily
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
run="history.parquet --label liked $columns --metric roc_auc --in-order -o model.st"
kept='--checkpoint run.st --every 0s --resume'
printf '\n$ %s &\n$ kill -9 $!\n' "crossview train $run $kept"
crossview train $run $kept &
while [ ! -e run.st ]; do sleep 0.1; done
kill -9 $!
wait $! || true
step crossview train $run $kept --log history.jsonl
cp model.st old.st

for day in 1 2 3 4 5 6 7; do
    step crossview predict model.st day$day.parquet --keep id --explain 2 -o log$day.parquet
    step crossview evaluate model.st day$day.parquet --source labels$day.csv --json new$day.json
    crossview evaluate old.st day$day.parquet --source labels$day.csv --json old$day.json > old$day.txt
    step crossview train day$day.parquet --source labels$day.csv --init model.st --in-order -o model.st
done
step crossview inspect model.st --weights weights.parquet

# was it worth going on?
python "$here/days.py" --summary .
