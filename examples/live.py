"""A server that begins with nothing, gets rows of a table, and their labels 20 rows later.

Run by demo.sh; python3 examples/live.py TABLE.parquet LABEL FOLDER
"""

import json
import re
import subprocess
import sys
import urllib.request

import pyarrow.parquet as pq

table, label, folder = sys.argv[1:]
command = ["crossview", "serve", "--new", "--label", label, "--data", folder, "--port", "0"]
print("$", *command, flush=True)
server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def ask(path, body=None):
    """Return the answer to a request."""
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address + path, content, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


try:
    # where it listens; where it does not, why
    said = []
    for line in server.stderr:
        said.append(line)
        if found := re.search(r"http://\S+?(?=,)", line):
            break
    else:
        sys.exit("".join(said))
    address = found[0]
    rows = pq.read_table(table).to_pylist()
    rows = [rows[i * 211 % len(rows)] for i in range(len(rows))]  # they are sorted by label
    waiting = []
    for number, row in enumerate(rows, 1):
        diagnosis = row.pop(label)
        waiting.append({"id": ask("/predict", {"row": row})["id"], "label": diagnosis})
        if len(waiting) == 20 or number == len(rows):
            ask("/label", waiting)  # answered when they are on disk
            waiting = []
        if number % 100 == 0 or number == len(rows):
            while (stats := ask("/stats"))["labels_to_learn"]:
                pass
            print(
                f"{number} rows, {stats['labels']} labels learned: accuracy so far "
                f"{stats['accuracy']:.3f}, log loss {stats['log_loss']:.3f}"
            )
finally:
    server.terminate()
    server.wait(60)
