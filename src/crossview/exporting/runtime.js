/* Scores rows with a model that Crossview exported: `load(JSON.parse(text))`.  No dependencies.

A row maps columns to values, {"user__age": 31}, or views to mappings, {"user": {"age": 31}}.
What is absent, null or NaN is missing; other columns are ignored. */

const LARGEST = 1e100, LEAST = 1e-6, DAY = 86400e6, SECOND = 1e6, MOST_KEPT = 1e5;
const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const BLANKS = new RegExp(`[${SPACE}]+`);

/** Return a model with predict, predictProba, viewScores and explain, each of a row. */
export function load(description) {
  if (description.crossview !== 3) throw new Error("this is no model of crossview, or of another version: export it again");
  const model = prepared(description.model), {scorer, classes = null, calibration} = model;
  const encoder = new ({table: Table, numbers: Views}[description.encoder.kind])(description.encoder);
  const [mean, unit] = model.units ?? [0, 1];
  const inUnits = (s) => mean + unit * s;
  const proba = (scores) => {
    if (!calibration) throw new Error("the model has no probabilities");
    return classes.length === 1 ? [1] : probabilities(scores, calibration);
  };
  const named = (p) => Object.fromEntries(p.map((one, k) => [String(classes[k]), one]));
  const decide = (scores) => {
    if (!classes) return asTarget(model, inUnits(scores[0]));
    if (classes.length === 1) return classes[0];
    const {threshold} = model;
    if (scores.length > 1) {
      if (threshold !== undefined) scores = proba(scores).map((p, k) => p / threshold[k]);
      return classes[scores.indexOf(Math.max(...scores))];
    }
    return classes[+(threshold === undefined ? scores[0] > 0 : proba(scores)[1] > threshold)];
  };
  const scoresOfViews = (views) => {
    const own = scorer.view_scores === "own" ? OWN[scorer.kind](scorer, views) : null;
    return Object.fromEntries(model.views.map((name, v) => {
      if (!views[v]) return [name, null];
      const found = own ? own[v] : score(scorer, views.map((x, u) => (u === v ? x : null)));
      return [name, found.length === 1 ? inUnits(found[0]) : found.map(inUnits)];
    }));
  };
  const answer = (views) => {
    const scores = score(scorer, views);
    return {
      prediction: decide(scores), probabilities: calibration ? named(proba(scores)) : null, scores,
    };
  };
  return {
    classes, views: model.views, columns: encoder.columns, description,
    scores: (row) => score(scorer, encoder.encode(row)),
    predict: (row) => decide(score(scorer, encoder.encode(row))),
    /** Probability of each class by name; they add up to 1. */
    predictProba: (row) => named(proba(score(scorer, encoder.encode(row)))),
    /** Score of each view, one per class of several; null where the view is missing. */
    viewScores: (row) => scoresOfViews(encoder.encode(row)),
    answer: (row) => {
      const views = encoder.encode(row);
      return {...answer(views), viewScores: scoresOfViews(views)};
    },
    /** What the score, of several classes that of the predicted one, loses without each view, column
        and term; of numbers in their units. */
    explain: (row) => {
      const traces = [], views = encoder.encode(row, traces), found = answer(views);
      const k = found.scores.length > 1 ? classes.indexOf(found.prediction) : 0;
      const lost = (v, columns) => {
        const less = new Map(views[v]);
        for (const c of columns) if (less.has(c)) less.set(c, 0);  // it stays in the view
        const scores = score(scorer, views.map((x, u) => (u === v ? less : x)));
        return unit * (found.scores[k] - scores[k]);
      };
      const parts = model.views.map((view, v) => {
        if (!views[v]) return {view, missing: true, contribution: 0, columns: []};
        const columns = new Map();
        for (const {column, term, at} of traces.filter((t) => t.view === v)) {
          if (!columns.has(column)) columns.set(column, {slots: new Set(), terms: new Map()});
          const own = columns.get(column);
          at.forEach((c) => own.slots.add(c));
          if (term !== undefined) own.terms.set(at[0], [...(own.terms.get(at[0]) ?? []), term]);
        }
        return {
          view, missing: false, contribution: lost(v, views[v].keys()),
          columns: [...columns].map(([column, {slots, terms}]) => ({
            column, contribution: lost(v, slots),
            terms: [...terms].map(([c, own]) => ({terms: own, contribution: lost(v, [c])})),
          })),
        };
      });
      return {...found, views: parts};
    },
  };
}

/** A description with tables as {at: column -> place in values, values, width}. */
function prepared(part) {
  if (Array.isArray(part)) return typeof part[0] === "object" && !Array.isArray(part[0]) ? part.map(prepared) : part;
  if (part === null || typeof part !== "object") return part;
  const {columns, values, step = 1, ...others} = part;
  if (columns && values && !Object.keys(others).length) {
    const width = columns.length ? values.length / columns.length : 0;
    return {at: new Map(places(columns).map((c, i) => [c, i * width])), values: values.map((x) => step * x), width};
  }
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, prepared(value)]));
}

/** Columns from the steps between them. */
function places(steps) {
  let at = 0;
  return steps.map((step) => (at += step));
}

/* --- from a row to the columns of views: a Map, or null where the view is missing --- */

class Views {
  constructor(encoder) {
    Object.assign(this, {encoder, columns: []});
  }

  encode(row, traces) {
    const {views, widths, factors, scales} = this.encoder, cells = new Map(itemsOf(row));
    return views.map((name, v) => {
      const given = cells.get(name) ?? null, found = new Map();
      if (given === null) return null;
      if (typeof given !== "object") throw new Error(`"${name}" is a view: give its numbers, or null`);
      for (const [key, value] of Object.entries(given)) {
        const column = /^\d+$/.test(key) ? Number(key) : -1;
        if (!(column >= 0 && column < widths[v])) throw new Error(`view "${name}" has no column ${key}: they are 0 to ${widths[v] - 1}`);
        if (value) found.set(column, factors[v] * ((scales[v][column] ?? 1) * finite(value, name)));
        traces?.push({view: v, column: key, at: [column]});
      }
      return found;
    });
  }
}

class Table {
  constructor(encoder) {
    Object.assign(this, {encoder, columns: encoder.columns, kept: new Map(), flat: new Map(), groups: new Map(), lengths: new Map()});
    encoder.columns.forEach((column, c) => {
      const {name, view, pattern} = column, cut = name.indexOf("__");
      if (pattern) column.regex = new RegExp(`^(?:${pattern.replaceAll("(?P<", "(?<")})$`);
      this.flat.set(name, [...(this.flat.get(name) ?? []), c]);
      const inside = name.startsWith(view + "__") ? name.slice(view.length + 2) : name;
      const places = [[view, inside], [view, name]];
      if (cut >= 0) places.push([name.slice(0, cut), name.slice(cut + 2)]);
      for (const [group, key] of places) {
        if (!this.groups.has(group)) this.groups.set(group, new Map());
        this.groups.get(group).set(key, name);
      }
    });
    for (const name of this.flat.keys()) {
      const [, vector, number] = name.match(/^(.*)__(\d+)$/s) ?? [];
      if (number) this.lengths.set(vector, Math.max(this.lengths.get(vector) ?? 0, 1 + Number(number))); // at least
    }
    for (const view of encoder.views) {
      for (const one of view.hashed) one.idf = new Map(places(one.slots ?? []).map((slot, i) => [slot, one.df[i]]));
    }
  }

  encode(row, traces) {
    const cells = this.cells(row);
    return this.encoder.views.map((view, v) => this.view(view, cells, traces && ((trace) => traces.push({view: v, ...trace}))));
  }

  cells(row) {
    const cells = this.columns.map(() => null);
    const given = new Set(), put = (name, value) => {
      if (given.has(name)) throw new Error(`"${name}" is there twice: by its name, and in a view`);
      given.add(name);
      this.flat.get(name).forEach((c) => (cells[c] = Number.isNaN(value) ? null : value ?? null));
    };
    const noCell = (name, value) => wrong({name}, value, "an object; give a number, text, a date or null");
    const putVector = (name, value) => {
      const n = this.lengths.get(name);
      if (n === undefined || !(Array.isArray(value) || ArrayBuffer.isView(value))) return false;
      if (value.length < n) throw new Error(`"${name}" is a vector of ${n} numbers, and not of ${value.length}`);
      value.forEach((number, i) => this.flat.has(`${name}__${i}`) && put(`${name}__${i}`, number));
      return true;
    };
    for (const [key, value] of itemsOf(row)) {
      if (putVector(key, value)) continue;
      if (this.flat.has(key) && !isMapping(value)) put(key, value);
      else if (this.groups.has(key)) {
        if (value === null || value === undefined) continue;
        if (!isMapping(value)) throw new Error(`"${key}" is a view: give a mapping of its columns, or null`);
        const group = this.groups.get(key);
        for (const [name, cell] of Object.entries(value)) if (isMapping(cell) && group.has(name)) throw noCell(group.get(name), cell);
        for (const [inside, cell] of fieldsOf(value)) {
          if (group.has(inside)) put(group.get(inside), cell);
          else putVector(`${key}__${inside}`, cell) || putVector(inside, cell);
        }
      } else if (this.flat.has(key)) throw noCell(key, value);
    }
    return cells;
  }

  view(view, cells, trace) {
    const {columns, encoder: {n_bins: bins}} = this, n = view.numbers.length, found = new Map(), parts = new Map();
    let there = false;
    view.numbers.forEach((one, c) => {
      if (!parts.has(one.column)) parts.set(one.column, numbersOf(cells[one.column], columns[one.column]));
      const x = parts.get(one.column)?.[one.part] ?? null, at = [c, n + c];
      if (x === null) {
        if (one.says_missing) found.set(n + c, 1);
      } else {
        there = true;
        if (one.scale !== undefined && x !== one.mean) found.set(c, (x - one.mean) / one.scale);
        const {knots} = one, first = 2 * n + c * bins;
        if (knots.length > 1) {
          let k = lastNotAbove(knots, x), position = Math.max(k, 0);
          // by k + f, as Crossview has it
          if (k >= 0 && k < knots.length - 1) position += 1 / (knots[k + 1] - knots[k]) * (x - knots[k]);
          k = Math.floor(position);
          const shares = [[first + k, 1 - (position - k)], [first + k + 1, position - k]];
          for (const [knot, share] of shares.slice(0, position > k ? 2 : 1)) {
            found.set(knot, share);
            at.push(knot);
          }
        }
      }
      trace?.({column: columns[one.column].name, at});
    });
    for (const one of view.hashed) {
      const cell = cells[one.column];
      if (cell === null) continue;
      there = true;
      for (const [slot, {value, terms}] of this.slots(one, cell)) {
        const at = view.first_slot + slot;
        found.set(at, (found.get(at) ?? 0) + value);
        for (const term of terms) trace?.({column: columns[one.column].name, term, at: [at]});
      }
    }
    if (!there) return null;
    return new Map([...found].sort((a, b) => a[0] - b[0]).map(([c, value]) => [c, view.factor * value]));
  }

  slots(one, cell) {
    const column = this.columns[one.column], {prefix, form, texts} = one, counts = new Map();
    if (form === "category") {
      const term = asCategory(cell, column);
      return counts.set(this.slot(prefix + term), {value: 1, terms: [term]});
    }
    const text = asText(cell, column);
    for (const term of form === "words" ? words(text, ...one.ngrams) : characters(text)) {
      const slot = this.slot(prefix + term), own = counts.get(slot) ?? {value: 0, terms: new Set()};
      own.value += 1;
      own.terms.add(term);
      counts.set(slot, own);
    }
    let squares = 0;
    for (const [slot, own] of counts) {
      if (texts !== undefined) own.value = (1 + Math.log(own.value)) * (Math.log((1 + texts) / (1 + (one.idf.get(slot) ?? one.default_df))) + 1);
      squares += own.value ** 2;
    }
    for (const own of counts.values()) own.value /= Math.sqrt(squares);
    return counts;
  }

  slot(name) {
    let found = this.kept.get(name);
    if (found === undefined) {
      if (this.kept.size >= MOST_KEPT) this.kept.clear();
      this.kept.set(name, found = hash(name) % this.encoder.n_slots);
    }
    return found;
  }
}

/** The fields of a view; those of an object in it are object__field. */
const fieldsOf = (own) => Object.entries(own).flatMap(([name, cell]) =>
  (isMapping(cell) ? fieldsOf(cell).map(([field, value]) => [`${name}__${field}`, value]) : [[name, cell]]));

const isMapping = (value) => Object.prototype.toString.call(value) === "[object Object]";
const wrong = (column, cell, what) => new Error(`"${column.name}": ${JSON.stringify(cell)} is ${what}`);

function itemsOf(row) {
  if (!isMapping(row)) throw new Error(`a row is an object of columns and their values, and ${JSON.stringify(row)} is none`);
  return Object.entries(row);
}

function lastNotAbove(knots, x) {
  let low = 0, high = knots.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (knots[middle] > x) high = middle;
    else low = middle + 1;
  }
  return low - 1;
}

function finite(value, name) {
  if (typeof value !== "number") throw wrong({name}, value, "no number");
  if (!(Math.abs(value) <= LARGEST)) throw wrong({name}, value, "too large");
  return value;
}

function numbersOf(cell, column) {
  if (cell === null) return null;
  if (column.kind === "date") return dateNumbers(cell, column);
  if (column.kind !== "number") return shape(asText(cell, column));
  if (column.declared && ["string", "boolean"].includes(typeof cell)) {
    const text = String(cell).toLowerCase(), bool = ["false", "true"].indexOf(text);
    if (bool < 0 && !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/.test(text)) throw wrong(column, cell, "not a number");
    cell = bool < 0 ? Number(text) : bool;
  }
  return [finite(cell, column.name)];
}

function asText(cell, column) {
  if (typeof cell !== "string") throw wrong(column, cell, "no text");
  if (/\p{Surrogate}/u.test(cell)) throw wrong(column, cell, "text with half a character");
  return cell;
}

/** A category as Python writes it: 3.0 is "3". */
function asCategory(cell, column) {
  if (column.boolean && cell !== null && typeof cell !== "object") {
    const text = String(cell).toLowerCase();
    if (["true", "1", "1.0", "yes", "y", "t"].includes(text)) return "true";
    if (["false", "0", "0.0", "no", "n", "f"].includes(text)) return "false";
    if (typeof cell !== "string") throw wrong(column, cell, "neither true nor false");
  }
  if (typeof cell === "boolean") return String(cell);
  if (!column.declared || typeof cell !== "number" || !Number.isFinite(cell)) return asText(cell, column);
  if (Number.isInteger(cell)) {
    if (!Number.isSafeInteger(cell)) throw wrong(column, cell, "rounded, as JavaScript has no whole numbers beyond 2^53: give it as text");
    return String(cell);
  }
  return Math.abs(cell) < 1e-4 ? cell.toExponential().replace(/e-(\d)$/, "e-0$1") : String(cell);
}

function words(text, shortest, longest) {
  const found = text.toLowerCase().match(/[\p{L}\p{N}_]{2,}/gu) ?? [], terms = [];
  for (let n = shortest; n <= longest; n++) {
    for (let i = 0; i + n <= found.length; i++) terms.push(found.slice(i, i + n).join(" "));
  }
  return terms;
}

function characters(text) {
  const terms = [];
  for (const part of text.toLowerCase().split(BLANKS)) {
    const word = [..."<" + part + ">"];
    if (!part) continue;
    for (let n = 3; n <= Math.min(5, word.length); n++) {
      for (let i = 0; i + n <= word.length; i++) terms.push(word.slice(i, i + n).join(""));
    }
  }
  return terms;
}

function shape(text) {
  const count = (regex) => (text.match(regex) ?? []).length;
  const shown = Math.max(count(/[^\t\n\f\r ]/gu), 1), all = count(/[^\t\n\f\r ]+/gu);
  return [
    Math.log1p([...text].length), all,
    count(/\p{Nd}/gu) / shown, count(/\p{Lu}/gu) / shown, count(/[\p{P}\p{S}]/gu) / shown,
    count(/(?:http[s\u017f]?:\/\/|\bwww\.)[^\t\n\f\r ]/gi) / Math.max(all, 1),
  ];
}

function rint(x) {
  const found = Math.round(x);
  return Math.abs(x % 1) === 0.5 && found % 2 ? found - 1 : found;
}

/** The numbers of a date: days, year, and month, weekday and second of the day on circles. */
function dateNumbers(cell, column) {
  let day, rest;
  if (cell instanceof Date) [day, rest] = [0, cell.getTime() * 1000];
  else {
    const text = Number.isInteger(cell) ? String(cell) : cell;
    if (typeof text === "string" && !text.replace(BLANKS, "")) return null;
    const found = typeof text === "string" ? column.regex.exec(text) : null;
    const read = found && readDate(found.groups);
    if (!read) throw wrong(column, cell, "no date");
    [day, rest] = read;
  }
  day += Math.floor(rest / DAY);
  rest -= Math.floor(rest / DAY) * DAY;
  const [year, month] = civil(day);
  const angles = [(month - 1) / 12, (((day + 3) % 7) + 7) % 7 / 7, Math.floor(rest / SECOND) / 86400];
  const circles = angles.flatMap((a) => [Math.sin(2 * Math.PI * a), Math.cos(2 * Math.PI * a)]);
  const time = Number(BigInt(day) * BigInt(DAY) + BigInt(rest));
  return [time / DAY, year, ...circles.map((x) => Math.round(x * 1e12) / 1e12)];
}

function readDate(part) {
  const number = (key) => Number((part[key] ?? "0").replace(",", "."));
  let year = number("Y");
  if (part.Y === undefined) year = number("y") + (number("y") < 69 ? 2000 : 1900);
  const [month, date, hour, minute, second] = ["m", "d", "H", "M", "S"].map(number);
  if (!(month >= 1 && month <= 12 && hour < 24 && minute < 60 && second < 60)) return null;
  const day = days(year, month, date), [y, m] = civil(day);
  if (y !== year || m !== month) return null;
  const zone = part.z ?? "", digits = zone.replace(/[+\-Z:]/g, "");
  const offset = 60 * Number(digits.slice(0, 2)) + Number(digits.slice(2));
  const time = rint((3600 * hour + 60 * minute) * SECOND + second * SECOND);
  return [day, time - (zone.startsWith("-") ? -offset : offset) * 60 * SECOND];
}

/* Hinnant, "chrono-compatible low-level date algorithms" */
function days(year, month, day) {
  year -= month <= 2;
  const era = Math.floor(year / 400), y = year - era * 400;
  const ofYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return era * 146097 + y * 365 + Math.floor(y / 4) - Math.floor(y / 100) + ofYear - 719468;
}

function civil(day) {
  day += 719468;
  const era = Math.floor(day / 146097), d = day - era * 146097, f = Math.floor;
  const y = f((d - f(d / 1460) + f(d / 36524) - f(d / 146096)) / 365);
  const m = f((5 * (d - (365 * y + f(y / 4) - f(y / 100))) + 2) / 153);
  const month = m + (m < 10 ? 3 : -9);
  return [y + era * 400 + (month <= 2 ? 1 : 0), month];
}

/** |MurmurHash3| of UTF-8: x86, 32 bits, signed, seed 0. */
function hash(name) {
  const text = new TextEncoder().encode(name), n = text.length, turn = (x, r) => (x << r) | (x >>> (32 - r));
  let h = 0;
  for (let i = 0; i < n; i += 4) {
    const k = text[i] | (text[i + 1] << 8) | (text[i + 2] << 16) | (text[i + 3] << 24);
    h ^= Math.imul(turn(Math.imul(k, 0xcc9e2d51), 15), 0x1b873593);
    if (i + 4 <= n) h = (Math.imul(turn(h, 13), 5) + 0xe6546b64) | 0;
  }
  h ^= n;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return Math.abs((h ^ (h >>> 16)) | 0);
}

/* --- from the columns of views to scores --- */

function score(node, views) {
  const scores = SCORERS[node.kind](node, views);
  if (!node.missing) return scores;
  const lacking = [...views.keys()].filter((v) => !views[v]);
  if (lacking.length === views.length) lacking.push(views.length);
  return scores.map((s, k) => lacking.reduce((total, v) => total + node.missing[v][k], s));
}

const sum = (values) => values.reduce((a, b) => a + b, 0);
const zeros = (n) => new Array(n).fill(0);

function add({at, values, width}, x, out) {
  for (const [column, value] of x) {
    const row = at.get(column);
    if (row !== undefined) for (let k = 0; k < width; k++) out[k] += value * values[row + k];
  }
}

function termsOf(node, views) {
  const there = [...views.keys()].filter((v) => views[v]), some = there.filter((v) => views[v].size);
  const terms = views.map((x, v) => {
    if (!x) return null;
    const part = node.views[v], own = [...part.intercept];
    add(part.weights, x, own);
    if (part.cosines) addCosines(part.cosines, [x], own);
    if (part.supports) addSupports(part.supports, x, own);
    return own;
  });
  return [terms, node.skips_empty && some.length ? some : there];
}

function sumOfViews(node, views) {
  const [terms, takes] = termsOf(node, views), n = node.mean ? takes.length : 1;
  const scores = node.constant.map((constant, k) => {
    const total = takes.length ? (sum(takes.map((v) => terms[v][k])) + node.shared[k]) / n : 0;
    return total + constant;
  });
  if (node.cosines) addCosines(node.cosines, views, scores);
  if (node.gaussians) addGaussians(node.gaussians, views, scores);
  return scores;
}

function ownOfSum(node, views) {
  const [terms, takes] = termsOf(node, views);
  for (const v of takes) terms[v] = terms[v].map((s, k) => s + node.shared[k] / takes.length);
  return terms;
}

function addCosines(node, views, out) {
  const angles = [...node.phases];
  node.views.forEach((v, i) => views[v] && add(node.slopes[i], views[v], angles));
  angles.forEach((angle, r) => node.weights[r].forEach((w, k) => (out[k] += w * Math.cos(angle))));
}

function addGaussians(node, views, out) {
  const z = node.views.flatMap((v, i) => node.columns[i].map((c, j) => (
    views[v] ? ((views[v].get(c) ?? 0) - node.means[i][j]) * node.factors[i][j] : 0)));
  const sums = zeros(out.length), [low, high] = node.limits ?? [-Infinity, Infinity];
  node.centers.forEach((center, j) => {
    const value = Math.exp(-sum(center.map((a, i) => (z[i] - a) ** 2)));
    node.weights[j].forEach((w, k) => (sums[k] += w * value));
  });
  sums.forEach((s, k) => (out[k] += Math.min(Math.max(s, low), high)));
}

function addSupports(node, x, out) {
  const {kernel, gamma, coef0, degree, constant} = node;
  const xx = sum([...x.values()].map((a) => a * a));
  node.columns.forEach((columns, j) => {
    let dot = 0, zz = 0;
    columns.forEach((c, i) => {
      const z = node.values[j][i];
      dot += z * (x.get(c) ?? 0);
      zz += z * z;
    });
    let found = dot;
    if (kernel === "rbf") found = Math.exp(-gamma * Math.max(xx + zz - 2 * dot, 0));
    else if (kernel === "poly") found = (gamma * dot + coef0) ** degree;
    node.weights[j].forEach((w, k) => (out[k] += w * (found + constant)));
  });
}

function machine(node, views) {
  const k = node.n_factors, pairs = node.model === "all pairs", squares = zeros(k * node.intercept.length);
  const sums = node.parts.map(({view, factors, bias}) => {
    const own = [...bias], x = views[view];
    if (x) add(factors, x, own);
    for (const [column, value] of pairs && x ? x : []) {
      const row = factors.at.get(column);
      if (row !== undefined) for (let f = 0; f < factors.width; f++) squares[f] += (value * factors.values[row + f]) ** 2;
    }
    return own;
  });
  return node.intercept.map((score, c) => {
    if (node.model !== "products") score += sum(sums.map((own) => own[c * k]));
    for (let f = c * k; f < c * k + k; f++) {
      if (node.model === "products") {
        for (const group of node.groups) score += group.reduce((product, p) => product * sums[p][f], 1);
      } else if (f > c * k) {
        const total = sum(sums.map((own) => own[f]));
        score += 0.5 * (total * total - (pairs ? squares[f] : sum(sums.map((own) => own[f] ** 2))));
      }
    }
    return score;
  });
}

function features(node, views) {
  const found = [], entries = (x) => [...(x ?? [])].filter(([, value]) => value);
  for (const one of node.coded) {
    one.at ??= new Map(one.columns.map((c, i) => [c, one.codes[i]]));
    found.push(entries(views[one.view]).reduce((code, [c]) => one.at.get(c) ?? code, NaN));
  }
  for (const [v, column] of node.numbers) found.push(views[v] ? views[v].get(column) ?? 0 : NaN);
  for (const {view, width, loadings} of node.components) {
    const own = zeros(width);
    if (views[view]) add(loadings, views[view], own);
    found.push(...(views[view] ? own : own.fill(NaN)));
  }
  for (const {view, statistics: {at, values, width}} of node.statistics) {
    const row = entries(views[view]).reduce((place, [c]) => at.get(c) ?? place, -1);
    const own = row < 0 ? [...node.prior, 0] : values.slice(row, row + width);
    found.push(...(views[view] ? own : own.fill(NaN)));
  }
  return found;
}

function leaves(node, views, add) {
  const x = features(node, views), {feature, threshold, left, right, missing_left, set_of, sets} = node;
  for (let at of node.roots) {
    while (left[at]) {
      const own = x[feature[at]];
      let goesLeft = missing_left[at];
      if (!Number.isNaN(own)) {
        if (!set_of[at]) goesLeft = own <= threshold[at];
        else if (own >= 0 && own < 256) goesLeft = (sets[set_of[at]][own >> 5] >>> (own & 31)) & 1;
      }
      at = goesLeft ? left[at] : right[at];
    }
    for (let e = at ? node.ends[at - 1] : 0; e < node.ends[at]; e++) add(e, node.outputs[e], node.values[e]);
  }
}

function trees(node, views) {
  const scores = [...node.baseline];
  leaves(node, views, (_, k, value) => (scores[k] += value));
  if (!node.shares) return scores;
  return scores.map((p) => Math.log(p) - (scores.length === 1 ? Math.log1p(-p) : 0));
}

function ownOfTrees(node, views) {
  const found = views.map(() => node.baseline.map((b) => b / views.length));
  leaves(node, views, (e, k, value) => (found[node.leaf_views[e]][k] += value));
  return found;
}

function probabilities(scores, {slope, offset}) {
  const z = scores.map((s, k) => slope * s + offset[k]);
  if (z.length > 1) return softmax(z);
  const odds = Math.exp(-Math.abs(z[0])), p = [odds / (1 + odds), 1 / (1 + odds)];
  return z[0] >= 0 ? p : p.reverse();
}

function softmax(z) {
  const top = Math.max(...z), p = z.map((one) => Math.exp(one - top)), total = sum(p);
  return p.map((one) => one / total);
}

/** What a member of a stack or blend says. */
function says(member, views) {
  const {view, scorer, calibration, units} = member;
  const scores = score(scorer, view === undefined ? views : [views[view]]);
  if (calibration) return probabilities(scores, calibration);
  return units ? [asTarget(member, units[0] + units[1] * scores[0])] : scores;
}

/** A number that is predicted on a scale of the targets in their units. */
function asTarget({target_scale: scale, reach}, value) {
  if (!scale) return value;
  const exponent = Math.min(Math.max(value, reach[0]), reach[1]);
  return (scale === "log" ? Math.exp : Math.expm1)(exponent);
}

function blend(node, views) {
  const z = [...node.intercept];
  node.members.forEach((member, m) => {
    let own = says(member, views);
    if (node.task === "classes") {
      const [first, ...others] = own.map((p) => Math.log(Math.max(p, 1e-4)));
      own = others.map((one) => one - first);
    } else if (node.limits) own = own.map((one) => Math.min(Math.max(one, node.limits[0]), node.limits[1]));
    own.forEach((value, k) => (z[k] += node.weights[m] * value));
  });
  if (z.length === 1) return z;
  const all = [0, ...z], top = Math.max(...all), total = Math.log(sum(all.map((one) => Math.exp(one - top))));
  return all.map((one) => one - top - total);
}

function floored(p) {
  const least = p.map((one) => Math.max(one, LEAST)), total = sum(least);
  return least.map((one) => one / total);
}

function stack(node, views) {
  const {members, mixture, weights, task, stacks} = node, clip = (p) => Math.min(Math.max(p, LEAST), 1 - LEAST);
  const logit = (p) => Math.log(p / (1 - p)), C = weights.length - members.length;
  const read = {"two classes": (p) => [clip(p[1])], "several classes": floored, numbers: (s) => s}[task];
  const q = members.map((m) => (m.view !== undefined && !views[m.view] ? null : read(says(m, views))));
  const total = sum(mixture.filter((_, k) => q[k]));
  let m = task === "numbers" ? [0] : task === "two classes" ? [0.5] : zeros(C).fill(1 / C);
  if (total > 0) m = m.map((_, c) => sum(mixture.map((w, k) => (q[k] ? w * q[k][c] : 0))) / total);
  const all = q.map((own) => own ?? m);
  if (task === "several classes") {
    if (!stacks) return m.map(Math.log);
    const z = weights.slice(members.length);
    all.forEach((p, k) => {
      const logs = p.map(Math.log), mean = sum(logs) / C;
      logs.forEach((one, c) => (z[c] += weights[k] * (one - mean)));
    });
    return floored(softmax(z)).map(Math.log);
  }
  const isClass = task === "two classes", most = isClass ? Math.log(1e6 - 1) : Infinity;
  if (!stacks) return isClass ? [logit(m[0])] : m;
  const x = [...all.map(([one]) => (isClass ? logit(one) : one)), 1];
  return [Math.min(Math.max(sum(x.map((one, k) => weights[k] * one)), -most), most)];
}

/** h / (1 + exp(-h)), also where exp(-h) is too large for a number. */
function silu(h) {
  const odds = Math.exp(-Math.abs(h));
  return (h >= 0 ? h : h * odds) / (1 + odds);
}

/** Add x'rows to the numbers in out. */
function addRows(rows, x, out) {
  x.forEach((value, i) => value && rows[i].forEach((w, k) => (out[k] += value * w)));
}

function networks(node, views) {
  const h = [...node.b1], scores = [...node.b3], H = node.b2[0].length;
  node.numbers.forEach(([v, column], j) => {
    const x = views[v]?.get(column) ?? 0, factor = node.factor[j];
    const ramps = node.low[j].map((low, i) => Math.min(Math.max((x - low) * factor[i], 0), 1));
    if (views[v]) addRows(node.ramps[j], ramps, h);
  });
  views.forEach((x, v) => {
    if (!x) return;
    addRows([node.there[v]], [1], h);
    add(node.columns[v], x, h);
  });
  node.components.forEach(({view, width, loadings}, i) => {
    const own = zeros(width);
    if (views[view]) add(loadings, views[view], own);
    addRows(node.loaded[i], own, h);
  });
  node.W2.forEach((W2, j) => {
    const deep = [...node.b2[j]];
    addRows(W2, h.slice(j * H, j * H + H).map(silu), deep);
    addRows(node.W3[j], deep.map(silu), scores);
  });
  return scores;
}

const SCORERS = {sum: sumOfViews, machine, trees, networks, blend, stack};
const OWN = {sum: ownOfSum, trees: ownOfTrees};
