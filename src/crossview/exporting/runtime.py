"""Score rows with a model that Crossview exported.  Needs Python 3.9 or newer and nothing else.

    python -I FILE < rows.jsonl      # a row as JSON per line, an answer per line

A row maps columns to values, {"user__age": 31}, or views to mappings, {"user": {"age": 31}}.  A
list of numbers stands for the columns name__0, name__1, ...  What is absent, None or NaN is
missing; other columns are ignored.
"""

import json
import math
import re
import sys
import unicodedata
from bisect import bisect_right
from datetime import date, datetime, timezone
from itertools import accumulate

LARGEST = 1e100
DAY, SECOND = 86_400_000_000, 1_000_000  # microseconds
MOST_KEPT = 100_000  # slots of names


class Model:
    """A model: the description that `crossview export` writes as JSON."""

    def __init__(self, description):
        if description.get("crossview") != 3:
            raise ValueError(
                "this is no model of crossview, or of another version: export it again"
            )
        self._model = model = prepared(description["model"])
        self._encoder = ENCODERS[description["encoder"]["kind"]](description["encoder"])
        self._scorer, self.views = model["scorer"], model["views"]
        self.classes = model.get("classes")

    def scores(self, row):
        """Return the scores: one for two classes or numbers, else one per class."""
        return score(self._scorer, self._encoder.encode(row))

    def predict(self, row):
        """Return the predicted class, or number."""
        return self._decide(self.scores(row))

    def predict_proba(self, row):
        """Return the probability of each class."""
        return dict(zip(self.classes, self._probabilities(self.scores(row))))

    def answer(self, row):
        """Return prediction, probabilities and scores of the views, as JSON has them."""
        views = self._encoder.encode(row)
        scores = score(self._scorer, views)
        found = {"prediction": self._decide(scores)}
        if "calibration" in self._model:
            p = self._probabilities(scores)
            found["probabilities"] = {_label(c): one for c, one in zip(self.classes, p)}
        return {**found, "view_scores": self._view_scores(views)}

    def view_scores(self, row):
        """Return the score of each view; None where it is missing.

        Of several classes they are lists, in the order of `classes`.
        """
        return self._view_scores(self._encoder.encode(row))

    def _view_scores(self, views):
        own = self._scorer["view_scores"] == "own" and _OWN[self._scorer["kind"]]
        found = own(self._scorer, views) if own else None
        answer = {}
        for v, name in enumerate(self.views):
            if views[v] is None:
                answer[name] = None
                continue
            alone = [x if u == v else None for u, x in enumerate(views)]
            scores = found[v] if found else score(self._scorer, alone)
            scores = [self._in_units(s) for s in scores]
            answer[name] = scores[0] if len(scores) == 1 else scores
        return answer

    def _in_units(self, score):
        mean, scale = self._model.get("units", (0.0, 1.0))
        return mean + scale * score

    def _probabilities(self, scores):
        if "calibration" not in self._model:
            raise ValueError("the model has no probabilities")
        if len(self.classes) == 1:
            return [1.0]
        return probabilities(scores, self._model["calibration"])

    def _decide(self, scores):
        if self.classes is None:
            return _as_target(self._model, self._in_units(scores[0]))
        if len(self.classes) == 1:
            return self.classes[0]
        threshold = self._model.get("threshold")
        if len(scores) > 1:
            if threshold is not None:
                scores = [p / t for p, t in zip(self._probabilities(scores), threshold)]
            return self.classes[scores.index(max(scores))]
        if threshold is not None:
            return self.classes[self._probabilities(scores)[1] > threshold]
        return self.classes[scores[0] > 0.0]


def _label(label):
    """Return a class as the key of an object."""
    return label if isinstance(label, str) else json.dumps(label)


def prepared(part):
    """Return a description with tables as mappings of columns to rows of values."""
    if isinstance(part, list):
        return [prepared(one) for one in part] if part and isinstance(part[0], dict) else part
    if not isinstance(part, dict):
        return part
    if {"columns", "values"} <= set(part) <= {"columns", "values", "step"}:
        columns, values = list(accumulate(part["columns"])), part["values"]
        if "step" in part:
            values = [value * part["step"] for value in values]
        width = len(values) // len(columns) if columns else 0
        return {c: values[i * width : (i + 1) * width] for i, c in enumerate(columns)}
    return {key: prepared(value) for key, value in part.items()}


# --- from a row to the columns of views -------------------------------------------------------


class _Views:
    """Views of numbers, which rows have as they are."""

    def __init__(self, encoder):
        scales = [{int(c): scale for c, scale in own.items()} for own in encoder["scales"]]
        self._views = list(zip(encoder["views"], encoder["widths"], encoder["factors"], scales))

    def encode(self, row):
        """Return the columns of each view that are not 0; None: it is missing."""
        cells = dict(_items(row))
        return [self._view(cells.get(name), name, *about) for name, *about in self._views]

    def _view(self, given, name, width, factor, scales):
        if given is None:
            return None
        if isinstance(given, str) or not hasattr(given, "__iter__"):
            raise ValueError(f"{name!r} is a view: give its numbers, or None")
        pairs = given.items() if isinstance(given, dict) else enumerate(given)
        view = {}
        for key, value in pairs:
            column = int(key) if str(key).isdecimal() else -1
            if not 0 <= column < width:
                raise ValueError(f"view {name!r} has no column {key}: they are 0 to {width - 1}")
            if value:
                view[column] = factor * (scales.get(column, 1.0) * _finite(value, name))
        return view


class _Table:
    """Rows of a table."""

    def __init__(self, encoder):
        self._columns, self._views = encoder["columns"], encoder["views"]
        self._n_slots, self._n_bins = encoder["n_slots"], encoder["n_bins"]
        self._patterns = [re.compile(one.get("pattern", ""), re.ASCII) for one in self._columns]
        self._kept = {}
        for view in self._views:
            view["hashed"] = [_with_idf(one) for one in view["hashed"]]
        # a column may be in several views
        self._flat, self._groups = {}, {}
        for c, column in enumerate(self._columns):
            name, view = column["name"], column["view"]
            self._flat.setdefault(name, []).append(c)
            prefix, mark, rest = name.partition("__")
            inside = name[len(view) + 2 :] if name.startswith(view + "__") else name
            places = [(view, inside), (view, name)] + ([(prefix, rest)] if mark else [])
            for group, key in places:
                self._groups.setdefault(group, {})[key] = name
        self._lengths = {}  # at least, as columns that change nothing may be left out
        for name in self._flat:
            vector, _, number = name.rpartition("__")
            if number.isdecimal():
                self._lengths[vector] = max(self._lengths.get(vector, 0), 1 + int(number))

    def encode(self, row):
        """Return the columns of each view that are not 0; None: it is missing."""
        cells = self._cells(row)
        return [self._view(view, cells) for view in self._views]

    def _cells(self, row):
        """Return the cells of the columns, None where they are missing."""
        cells, given = [None] * len(self._columns), set()

        def put(name, value):
            if name in given:
                raise ValueError(f"{name!r} is there twice: by its name, and in a view")
            given.add(name)
            if isinstance(value, float) and value != value:
                value = None
            for c in self._flat[name]:
                cells[c] = value

        def put_vector(name, value):
            n = self._lengths.get(name)
            if n is None or not isinstance(value, (list, tuple)):
                return False
            if len(value) < n:
                raise ValueError(f"{name!r} is a vector of {n} numbers, and not of {len(value)}")
            for i, number in enumerate(value):
                if f"{name}__{i}" in self._flat:
                    put(f"{name}__{i}", number)
            return True

        for key, value in _items(row):
            if put_vector(key, value):
                continue
            own = self._groups.get(key)
            if key in self._flat and not isinstance(value, dict):
                put(key, value)
            elif own is not None:
                if value is None:
                    continue
                if not isinstance(value, dict):
                    raise ValueError(f"{key!r} is a view: give a mapping of its columns, or None")
                for name, cell in value.items():
                    if isinstance(cell, dict) and name in own:
                        raise _no_cell(own[name], cell)
                for inside, cell in _fields(value):
                    if inside in own:
                        put(own[inside], cell)
                    else:
                        put_vector(f"{key}__{inside}", cell) or put_vector(inside, cell)
            elif key in self._flat:
                raise _no_cell(key, value)
        return cells

    def _view(self, view, cells):
        """Return the columns of a view."""
        numbers, n, B = view["numbers"], len(view["numbers"]), self._n_bins
        found, parts, there = {}, {}, False
        for c, one in enumerate(numbers):
            column = one["column"]
            if column not in parts:
                parts[column] = self._numbers(column, cells[column])
            x = parts[column][one["part"]] if parts[column] else None
            if x is None:
                if one["says_missing"]:
                    found[n + c] = 1.0
                continue
            there = True
            if "scale" in one and x != one["mean"]:
                found[c] = (x - one["mean"]) / one["scale"]
            knots, first = one["knots"], 2 * n + c * B
            if len(knots) > 1:
                k = bisect_right(knots, x) - 1
                position = float(max(k, 0))
                if 0 <= k < len(knots) - 1:  # by k + f, as Crossview has it
                    position += 1.0 / (knots[k + 1] - knots[k]) * (x - knots[k])
                k = int(position)
                found[first + k] = 1.0 - (position - k)
                if position > k:
                    found[first + k + 1] = position - k
        for one in view["hashed"]:
            cell = cells[one["column"]]
            if cell is None:
                continue
            there = True
            try:
                slots = self._slots(one, cell)
            except UnicodeEncodeError:
                name = self._columns[one["column"]]["name"]
                raise ValueError(f"{name!r}: {cell!r} has half a character") from None
            for slot, value in slots.items():
                at = view["first_slot"] + slot
                found[at] = found.get(at, 0.0) + value
        if not there:
            return None
        return {column: view["factor"] * found[column] for column in sorted(found)}

    def _numbers(self, c, cell):
        """Return the numbers that a cell is, or None."""
        column = self._columns[c]
        if cell is None:
            return None
        if column["kind"] == "number":
            return [_as_number(cell, column)]
        if column["kind"] == "date":
            return _date_numbers(cell, column["name"], self._patterns[c])
        return _shape(_as_text(cell, column))

    def _slots(self, one, cell):
        """Return the values of the slots of a category or text."""
        column = self._columns[one["column"]]
        if one["form"] == "category":
            return {self._slot(one["prefix"] + _as_category(cell, column)): 1.0}
        text = _as_text(cell, column)
        terms = _words(text, *one["ngrams"]) if one["form"] == "words" else _characters(text)
        counts = {}
        for term in terms:
            slot = self._slot(one["prefix"] + term)
            counts[slot] = counts.get(slot, 0) + 1
        if "texts" in one:
            n, idf, default = one["texts"], one["idf"], one["default_df"]
            for slot in counts:
                df = idf.get(slot, default)
                weight = math.log((1.0 + n) / (1.0 + df)) + 1.0
                counts[slot] = (1.0 + math.log(counts[slot])) * weight
        norm = math.sqrt(sum(value * value for value in counts.values()))
        return {slot: value / norm for slot, value in counts.items()}

    def _slot(self, name):
        found = self._kept.get(name)
        if found is None:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            found = self._kept[name] = _hash(name.encode()) % self._n_slots
        return found


def _items(row):
    if not hasattr(row, "items"):
        raise ValueError(f"a row is a mapping of columns to values, and {row!r} is none")
    return row.items()


def _no_cell(name, value):
    return ValueError(f"{name!r}: {value!r} is a mapping; give a number, text, a date or None")


def _fields(own):
    """Yield the fields of a view; those of an object in it are object__field."""
    for name, cell in own.items():
        if isinstance(cell, dict):
            yield from ((f"{name}__{field}", value) for field, value in _fields(cell))
        else:
            yield name, cell


def _with_idf(one):
    return {**one, "idf": dict(zip(accumulate(one.get("slots", ())), one.get("df", ())))}


ENCODERS = {"table": _Table, "numbers": _Views}


def _finite(value, name):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{name!r}: {value!r} is no number")
    if not abs(value) <= LARGEST:
        raise ValueError(f"{name!r}: {value} is too large")
    return float(value)


def _as_number(cell, column):
    if column["declared"] and isinstance(cell, (str, bool)):
        text = str(cell).lower()
        if text in ("false", "true"):
            cell = float(text == "true")
        elif re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", text):
            cell = float(text)
        else:
            raise ValueError(f"{column['name']!r}: {cell!r} is not a number")
    return _finite(cell, column["name"])


def _as_text(cell, column):
    if not isinstance(cell, str):
        raise ValueError(f"{column['name']!r}: {cell!r} is no text")
    return cell


def _as_category(cell, column):
    if column.get("boolean") and isinstance(cell, (str, bool, int, float)):
        text = str(cell).lower()
        if text in ("true", "1", "1.0", "yes", "y", "t"):
            return "true"
        if text in ("false", "0", "0.0", "no", "n", "f"):
            return "false"
        if not isinstance(cell, str):
            raise ValueError(f"{column['name']!r}: {cell!r} is neither true nor false")
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if column["declared"] and isinstance(cell, (int, float)):
        return str(int(cell)) if isinstance(cell, int) or cell.is_integer() else str(cell)
    raise ValueError(f"{column['name']!r}: {cell!r} is no text")


def _words(text, shortest, longest):
    """Return the n-grams of the words, runs of two or more letters, digits and underscores."""
    words = re.findall(r"\b\w\w+\b", text.lower())
    return [
        " ".join(words[i : i + n])
        for n in range(shortest, longest + 1)
        for i in range(len(words) - n + 1)
    ]


def _characters(text):
    """Return sequences of three to five characters of each word between < and >."""
    found = []
    for word in text.lower().split():
        word = f"<{word}>"
        found += [
            word[i : i + n]
            for n in range(3, min(5, len(word)) + 1)
            for i in range(len(word) - n + 1)
        ]
    return found


def _shape(text):
    """Return the numbers that say how a text is written."""
    kinds = [unicodedata.category(c) for c in text]
    shown = max(len(re.findall(r"[^\t\n\f\r ]", text)), 1)
    words = len(re.findall(r"[^\t\n\f\r ]+", text))
    web = len(re.findall(r"(?i:https?://|(?<![0-9A-Za-z_])www\.)[^\t\n\f\r ]", text))
    shares = [
        sum(kind == "Nd" for kind in kinds),
        sum(kind == "Lu" for kind in kinds),
        sum(kind[0] in "PS" for kind in kinds),
    ]
    return [math.log1p(len(text)), words, *(one / shown for one in shares), web / max(words, 1)]


def _date_numbers(cell, name, pattern):
    """Return the numbers of a date; None if it is blank."""
    if isinstance(cell, datetime):
        utc = cell.astimezone(timezone.utc) if cell.tzinfo else cell.replace(tzinfo=timezone.utc)
        since = utc - datetime(1970, 1, 1, tzinfo=timezone.utc)
        time = (since.days * 86_400 + since.seconds) * SECOND + since.microseconds
    elif isinstance(cell, date):
        time = (cell.toordinal() - 719_163) * DAY
    else:
        text = str(cell) if isinstance(cell, int) and not isinstance(cell, bool) else cell
        if isinstance(text, str) and not text.strip():
            return None
        time = _read_date(text, pattern) if isinstance(text, str) else None
        if time is None:
            raise ValueError(f"{name!r}: {cell!r} is no date")
    day, rest = divmod(time, DAY)
    civil = _civil(day)
    angles = (civil[1] - 1) / 12, (day + 3) % 7 / 7, rest // SECOND / 86_400
    circles = [f(2.0 * math.pi * a) for a in angles for f in (math.sin, math.cos)]
    circles = [round(one * 1e12) / 1e12 for one in circles]
    return [float(time) / DAY, civil[0], *circles]


def _read_date(text, pattern):
    """Return the microseconds since 1970 in UTC, or None."""
    found = pattern.fullmatch(text)
    if not found:
        return None
    part = found.groupdict()

    def number(key, usual=0.0):
        return float((part.get(key) or str(usual)).replace(",", "."))

    if "Y" in part:
        year = int(part["Y"])
    else:
        year = int(part["y"])
        year += 2000 if year < 69 else 1900
    month, day = int(part["m"]), int(part["d"])
    hour, minute, second = number("H"), number("M"), number("S")
    if not (1 <= month <= 12 and hour < 24 and minute < 60 and second < 60):
        return None
    days = _days(year, month, day)
    if _civil(days)[:2] != (year, month):
        return None
    time = days * DAY + round((3600.0 * hour + 60.0 * minute) * SECOND + second * SECOND)
    zone = part.get("z") or ""
    digits = zone.lstrip("+-Z").replace(":", "")
    offset = 60 * int(digits[:2] or 0) + int(digits[2:] or 0)
    return time - (-offset if zone.startswith("-") else offset) * 60 * SECOND


def _days(year, month, day):
    """Return the days since 1970 (Hinnant, "chrono-compatible low-level date algorithms")."""
    year -= month <= 2
    era = year // 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    of_era = year % 400 * 365 + year % 400 // 4 - year % 400 // 100 + of_year
    return era * 146_097 + of_era - 719_468


def _civil(days):
    """Return year and month of a day since 1970."""
    days += 719_468
    of_era = days % 146_097
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    month += 3 if month < 10 else -9
    return year + days // 146_097 * 400 + (month <= 2), month


def _hash(text):
    """Return |MurmurHash3| of bytes: x86, 32 bits, signed, seed 0."""
    h, n, mask = 0, len(text), 0xFFFFFFFF
    for i in range(0, n, 4):
        k = int.from_bytes(text[i : i + 4], "little") * 0xCC9E2D51 & mask
        h ^= (k << 15 | k >> 17) * 0x1B873593 & mask
        if i + 4 <= n:
            h = (h << 13 | h >> 19) * 5 + 0xE6546B64 & mask
    h ^= n
    h = (h ^ h >> 16) * 0x85EBCA6B & mask
    h = (h ^ h >> 13) * 0xC2B2AE35 & mask
    h ^= h >> 16
    return h if h < 1 << 31 else (1 << 32) - h


# --- from the columns of views to scores -------------------------------------------------------


def score(node, views):
    """Return the scores of a row, whose views are mappings of columns to values, or None."""
    scores = _SCORERS[node["kind"]](node, views)
    if "missing" in node:
        lacking = [v for v, x in enumerate(views) if x is None]
        for v in lacking + [len(views)] * (len(lacking) == len(views)):
            scores = [s + a for s, a in zip(scores, node["missing"][v])]
    return scores


def _add(table, x, out):
    """Add table'x to the numbers in out."""
    for column, value in x.items():
        row = table.get(column)
        if row is not None:
            for k, w in enumerate(row):
                out[k] += value * w


def _terms(node, views):
    """Return the terms of the views, and which take part."""
    there = [v for v, x in enumerate(views) if x is not None]
    some = [v for v in there if views[v]]
    takes = some if node["skips_empty"] and some else there
    terms = [None] * len(views)
    for v in there:
        part = node["views"][v]
        terms[v] = list(part["intercept"])
        _add(part["weights"], views[v], terms[v])
        if "cosines" in part:
            _add_cosines(part["cosines"], [views[v]], terms[v])
        if "supports" in part:
            _add_supports(part["supports"], views[v], terms[v])
    return terms, takes


def _sum(node, views):
    terms, takes = _terms(node, views)
    scores = []
    for k, constant in enumerate(node["constant"]):
        total = 0.0
        if takes:
            total = sum(terms[v][k] for v in takes) + node["shared"][k]
            total /= len(takes) if node["mean"] else 1
        scores.append(total + constant)
    if "cosines" in node:
        _add_cosines(node["cosines"], views, scores)
    if "gaussians" in node:
        _add_gaussians(node["gaussians"], views, scores)
    return scores


def _own_of_sum(node, views):
    terms, takes = _terms(node, views)
    for v in takes:
        terms[v] = [s + b / len(takes) for s, b in zip(terms[v], node["shared"])]
    return terms


def _add_cosines(node, views, out):
    angles = list(node["phases"])
    for v, slopes in zip(node["views"], node["slopes"]):
        if views[v] is not None:
            _add(slopes, views[v], angles)
    K = len(out)
    for r, angle in enumerate(angles):
        for k in range(K):
            out[k] += math.cos(angle) * node["weights"][r][k]


def _add_gaussians(node, views, out):
    z = []
    for v, columns, means, factors in zip(
        node["views"], node["columns"], node["means"], node["factors"]
    ):
        x = views[v]
        for c, mean, factor in zip(columns, means, factors):
            z.append(0.0 if x is None else (x.get(c, 0.0) - mean) * factor)
    sums = [0.0] * len(out)
    for center, weights in zip(node["centers"], node["weights"]):
        value = math.exp(-sum((a - b) ** 2 for a, b in zip(z, center)))
        for k, w in enumerate(weights):
            sums[k] += w * value
    low, high = node.get("limits", (-math.inf, math.inf))
    for k, value in enumerate(sums):
        out[k] += min(max(value, low), high)


def _add_supports(node, x, out):
    gamma, kernel = node["gamma"], node["kernel"]
    xx = sum(value * value for value in x.values())
    for columns, values, weights in zip(node["columns"], node["values"], node["weights"]):
        dot = sum(x.get(c, 0.0) * value for c, value in zip(columns, values))
        if kernel == "rbf":
            away = xx + sum(value * value for value in values) - 2.0 * dot
            found = math.exp(-gamma * max(away, 0.0))
        else:
            found = dot if kernel == "linear" else (gamma * dot + node["coef0"]) ** node["degree"]
        for k, w in enumerate(weights):
            out[k] += w * (found + node["constant"])


def _machine(node, views):
    k, pairs = node["n_factors"], node["model"] == "all pairs"
    scores, sums, squares = list(node["intercept"]), [], [0.0] * k * len(node["intercept"])
    for part in node["parts"]:
        own, x = list(part["bias"]), views[part["view"]]
        if x is not None:
            _add(part["factors"], x, own)
            for column, value in x.items() if pairs else ():
                for f, a in enumerate(part["factors"].get(column, ())):
                    squares[f] += (value * a) ** 2
        sums.append(own)
    for c in range(len(scores)):
        if node["model"] == "products":
            for group in node["groups"]:
                for f in range(c * k, c * k + k):
                    scores[c] += math.prod([sums[p][f] for p in group])
            continue
        scores[c] += sum(own[c * k] for own in sums)
        for f in range(c * k + 1, c * k + k):
            total = sum(own[f] for own in sums)
            less = squares[f] if pairs else sum(own[f] ** 2 for own in sums)
            scores[c] += 0.5 * (total * total - less)
    return scores


def _features(node, views):
    """Return what the trees split; NaN where it is missing."""
    found = []
    for one in node["coded"]:
        code, x = math.nan, views[one["view"]]
        at = one.get("at")
        if at is None:
            at = one["at"] = dict(zip(one["columns"], one["codes"]))
        for column, value in (x or {}).items():
            if column in at and value != 0.0:
                code = at[column]
        found.append(code)
    for v, column in node["numbers"]:
        found.append(math.nan if views[v] is None else views[v].get(column, 0.0))
    for one in node["components"]:
        width = one["width"]
        own = [0.0] * width if views[one["view"]] is not None else [math.nan] * width
        if width and views[one["view"]] is not None:
            _add(one["loadings"], views[one["view"]], own)
        found += own
    for one in node["statistics"]:
        own, x = [*node["prior"], 0.0], views[one["view"]]
        if x is None:
            own = [math.nan] * len(own)
        for column, value in (x or {}).items():
            if column in one["statistics"] and value != 0.0:
                own = one["statistics"][column]
        found += own
    return found


def _leaves(node, views):
    """Yield the position, the score and the value of what the leaves add."""
    x, feature, threshold = _features(node, views), node["feature"], node["threshold"]
    left, right, missing_left = node["left"], node["right"], node["missing_left"]
    set_of, sets = node["set_of"], node["sets"]
    ends, outputs, values = node["ends"], node["outputs"], node["values"]
    for at in node["roots"]:
        while left[at]:
            value = x[feature[at]]
            if value != value:
                goes_left = missing_left[at]
            elif not set_of[at]:
                goes_left = value <= threshold[at]
            elif 0 <= value < 256:
                code = int(value)
                goes_left = sets[set_of[at]][code >> 5] >> (code & 31) & 1
            else:
                goes_left = missing_left[at]
            at = left[at] if goes_left else right[at]
        for e in range(ends[at - 1] if at else 0, ends[at]):
            yield e, outputs[e], values[e]


def _trees(node, views):
    scores = list(node["baseline"])
    for _, k, value in _leaves(node, views):
        scores[k] += value
    if not node["shares"]:
        return scores
    return [math.log(p) - (math.log1p(-p) if len(scores) == 1 else 0.0) for p in scores]


def _own_of_trees(node, views):
    V = len(views)
    found = [[one / V for one in node["baseline"]] for _ in views]
    for e, k, value in _leaves(node, views):
        found[node["leaf_views"][e]][k] += value
    return found


def _silu(h):
    """h / (1 + exp(-h)), also where exp(-h) is too large for a number."""
    odds = math.exp(-abs(h))
    return h / (1.0 + odds) if h >= 0.0 else h * odds / (1.0 + odds)


def _networks(node, views):
    h = list(node["b1"])
    for (v, column), lows, factors, rows in zip(
        node["numbers"], node["low"], node["factor"], node["ramps"]
    ):
        if views[v] is None:
            continue
        x = views[v].get(column, 0.0)
        for low, factor, weights in zip(lows, factors, rows):
            ramp = min(max((x - low) * factor, 0.0), 1.0)
            if ramp:
                h = [a + ramp * w for a, w in zip(h, weights)]
    for v, x in enumerate(views):
        if x is not None:
            h = [a + w for a, w in zip(h, node["there"][v])]
            _add(node["columns"][v], x, h)
    for one, rows in zip(node["components"], node["loaded"]):
        own, x = [0.0] * one["width"], views[one["view"]]
        if x is not None:
            _add(one["loadings"], x, own)
        _add(dict(enumerate(rows)), dict(enumerate(own)), h)
    scores, H = list(node["b3"]), len(node["b2"][0])
    for j, (W2, b2, W3) in enumerate(zip(node["W2"], node["b2"], node["W3"])):
        deep = list(b2)
        _add(dict(enumerate(W2)), dict(enumerate(map(_silu, h[j * H : j * H + H]))), deep)
        _add(dict(enumerate(W3)), dict(enumerate(map(_silu, deep))), scores)
    return scores


def probabilities(scores, calibration):
    """Return the probabilities of all classes from calibrated scores."""
    slope, offset = calibration["slope"], calibration["offset"]
    z = [slope * s + b for s, b in zip(scores, offset)]
    if len(z) == 1:
        odds = math.exp(-abs(z[0]))
        p = [odds / (1.0 + odds), 1.0 / (1.0 + odds)]
        return p if z[0] >= 0.0 else p[::-1]
    return _softmax(z)


def _softmax(z):
    top = max(z)
    p = [math.exp(one - top) for one in z]
    total = sum(p)
    return [one / total for one in p]


def _member(node, views):
    """Return what a member of a stack or blend says."""
    v = node.get("view")
    if v is not None:
        views = [views[v]]
    return says(node, score(node["scorer"], views))


def says(node, scores):
    """Return what a member says with these scores: probabilities, or a number."""
    if "calibration" in node:
        return probabilities(scores, node["calibration"])
    if "units" in node:
        return [_as_target(node, node["units"][0] + node["units"][1] * scores[0])]
    return scores


def _as_target(node, value):
    """Return a number that is predicted on a scale of the targets in their units."""
    if "target_scale" not in node:
        return value
    low, high = node["reach"]
    exponent = min(max(value, low), high)
    return (math.exp if node["target_scale"] == "log" else math.expm1)(exponent)


def _says(node, views):
    """Return what each member says of a row; None where it sees nothing."""
    return [
        None if m.get("view") is not None and views[m["view"]] is None else _member(m, views)
        for m in node["members"]
    ]


def _blend(node, views):
    return combine(node, [_member(member, views) for member in node["members"]])


def combine(node, found):
    """Return the scores of a stack or blend, from what its members say; None: nothing."""
    if node["kind"] == "stack":
        return _STACKS[node["task"]](node, found)
    z = list(node["intercept"])
    for w, own in zip(node["weights"], found):
        if node["task"] == "classes":
            logs = [math.log(max(p, 1e-4)) for p in own]
            own = [one - logs[0] for one in logs[1:]]
        elif "limits" in node:
            low, high = node["limits"]
            own = [min(max(one, low), high) for one in own]
        for k, value in enumerate(own):
            z[k] += w * value
    return z if len(z) == 1 else _log_softmax([0.0, *z])


def _log_softmax(z):
    top = max(z)
    total = math.log(sum(math.exp(one - top) for one in z))
    return [one - top - total for one in z]


LEAST = 1e-6


def _stack(node, views):
    return combine(node, _says(node, views))


def _mixed(node, found, nothing):
    """Return the mixture of what the experts say that say anything."""
    total = sum(w for w, own in zip(node["mixture"], found) if own is not None)
    if not total > 0.0:
        return nothing
    pairs = [(w, own) for w, own in zip(node["mixture"], found) if own is not None]
    return [sum(w * own[c] for w, own in pairs) / total for c in range(len(nothing))]


def _two_classes(node, found):
    q = [None if p is None else [min(max(p[1], LEAST), 1.0 - LEAST)] for p in found]
    m = _mixed(node, q, [0.5])
    if not node["stacks"]:
        return [math.log(m[0] / (1.0 - m[0]))]
    x = [math.log(p / (1.0 - p)) for (p,) in (m if p is None else p for p in q)]
    score = sum(v * one for v, one in zip(node["weights"], [*x, 1.0]))
    most = math.log(1e6 - 1.0)
    return [min(max(score, -most), most)]


def _floored(p):
    p = [max(one, LEAST) for one in p]
    total = sum(p)
    return [one / total for one in p]


def _several_classes(node, found):
    q = [None if p is None else _floored(p) for p in found]
    C = len(node["weights"]) - len(found)
    m = _mixed(node, q, [1.0 / C] * C)
    if not node["stacks"]:
        return [math.log(one) for one in m]
    z = list(node["weights"][len(found) :])
    for v, p in zip(node["weights"], q):
        logs = [math.log(one) for one in (m if p is None else p)]
        mean = sum(logs) / C
        for c in range(C):
            z[c] += v * (logs[c] - mean)
    return [math.log(one) for one in _floored(_softmax(z))]


def _numbers(node, found):
    m = _mixed(node, found, [0.0])
    if not node["stacks"]:
        return m
    x = [(m if own is None else own)[0] for own in found]
    return [sum(v * one for v, one in zip(node["weights"], [*x, 1.0]))]


_SCORERS = {
    "sum": _sum,
    "machine": _machine,
    "trees": _trees,
    "networks": _networks,
    "blend": _blend,
    "stack": _stack,
}
_OWN = {"sum": _own_of_sum, "trees": _own_of_trees}
_STACKS = {
    "two classes": _two_classes,
    "several classes": _several_classes,
    "numbers": _numbers,
}


def _main(model):
    for number, line in enumerate(sys.stdin, 1):
        if not line.strip():
            continue
        try:
            answer = json.dumps(model.answer(json.loads(line)))
        except ValueError as error:
            sys.exit(f"line {number}: {error}")
        sys.stdout.write(answer + "\n")
        sys.stdout.flush()
