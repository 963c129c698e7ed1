/* The page: fields for the columns of a row, and what each of them contributes. */

const MOST_COLUMNS = 10, MOST_TERMS = 24, MOST_OPEN = 40;
const form = document.getElementById("form"), answer = document.getElementById("answer");
const {encoder} = model.description, fields = [], open = new Set();

function make(name, about = {}, ...inside) {
  const found = document.createElement(name);
  for (const [key, value] of Object.entries(about)) found[key] = value;
  found.append(...inside);
  return found;
}

function short(x) {
  return Math.abs(x) >= 1e5 || (x && Math.abs(x) < 1e-3) ? x.toExponential(1) : String(Number(x.toPrecision(3)));
}

/** Add the field of a column; `read` makes a cell of what is written. */
function addField(box, name, kind, value) {
  const input = make(kind === "text" ? "textarea" : "input", {value, spellcheck: false});
  const label = make("label", {className: kind === "text" ? "wide" : ""}, name, input);
  const values = known[name];
  if (kind === "number") Object.assign(input, {type: "number", step: "any"});
  if (kind === "date") input.placeholder = "as in training";
  if (values) {
    const list = make("datalist", {id: `values-${fields.length}`}, ...values.map((one) => make("option", {value: one})));
    input.setAttribute("list", list.id);
    label.append(list);
    input.placeholder = values.slice(0, 3).join(", ");
  }
  box.append(label);
  const read = () => (input.value === "" ? null : kind === "number" ? Number(input.value) : input.value);
  fields.push({name, input, read});
}

function addFields() {
  if (encoder.kind === "numbers") {
    const box = make("div", {className: "fields"});
    const row = Object.fromEntries(encoder.views.map((view, v) => [view, new Array(Math.min(encoder.widths[v], 4)).fill(0)]));
    addField(box, "row, as JSON", "text", JSON.stringify(row));
    form.append(box);
    return;
  }
  const means = new Map(encoder.views.flatMap((view) => view.numbers.map((one) => [one.column, one.mean])));
  const done = new Set();
  encoder.views.forEach((view) => {
    const own = encoder.columns.map((column, c) => ({...column, c})).filter((column) => column.view === view.name && !done.has(column.name));
    if (!own.length) return;
    const box = make("div", {className: "fields"});
    for (const {name, kind, c} of own) {
      done.add(name);
      addField(box, name, kind, kind === "number" ? String(Number((means.get(c) ?? 0).toPrecision(4))) : "");
    }
    const inside = own.length > MOST_OPEN ? make("details", {}, make("summary", {}, `${own.length} columns`), box) : box;
    const views = encoder.columns.filter(({name}) => own.some((column) => column.name === name)).map((column) => column.view);
    form.append(make("fieldset", {}, make("legend", {}, [...new Set(views)].join(", ")), inside));
  });
}

function row() {
  if (encoder.kind === "numbers") return JSON.parse(fields[0].input.value);
  return Object.fromEntries(fields.map(({name, read}) => [name, read()]));
}

function bar(value, most, two) {
  const share = most > 0 ? Math.min(Math.abs(value) / most, 1) : 0, fill = make("i", {className: value < 0 ? "less" : ""});
  fill.style.width = `${share * (two ? 50 : 100)}%`;
  fill.style.left = two ? (value < 0 ? `${50 - share * 50}%` : "50%") : "0";
  return make("div", {className: two ? "bar two" : "bar"}, fill);
}

const line = (name, value, most, two, shown = short(value)) =>
  make("div", {className: "row"}, make("span", {}, name), bar(value, most, two), make("span", {}, shown));

/** Terms by their weight in the text, coloured by what they speak for. */
function terms(own, most) {
  const sorted = own.filter((one) => one.contribution !== 0)
    .sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution)).slice(0, MOST_TERMS);
  return make("div", {className: "terms"}, ...sorted.map((one) => {
    const span = make("span", {title: short(one.contribution)}, one.terms.join(" / ")), color = one.contribution < 0 ? "--against" : "--for";
    span.style.borderColor = `var(${color})`;
    span.style.background = `color-mix(in srgb, var(${color}) ${Math.round(45 * Math.min(1, Math.abs(one.contribution) / most))}%, transparent)`;
    return span;
  }));
}

function show() {
  let found;
  for (const {input} of fields) input.classList.remove("bad");
  try {
    found = model.explain(row());
  } catch (error) {
    const named = fields.find(({name}) => error.message.startsWith(`"${name}"`));
    named?.input.classList.add("bad");
    answer.replaceChildren(make("p", {id: "error"}, error.message));
    return;
  }
  const {classes} = model, several = found.scores.length > 1;
  const top = several ? found.prediction : classes?.[classes.length - 1];
  const parts = [
    make("div", {className: "muted"}, "prediction"),
    make("p", {className: "prediction"}, classes ? String(found.prediction) : short(found.prediction)),
  ];
  if (found.probabilities) {
    const sorted = Object.entries(found.probabilities).sort((a, b) => b[1] - a[1]).slice(0, 8);
    parts.push(make("section", {}, make("h2", {}, "Probabilities"),
      ...sorted.map(([name, p]) => line(name, p, 1, false, `${(100 * p).toFixed(1)} %`))));
  }
  const columns = found.views.flatMap((view) => view.columns);
  const most = Math.max(...[...found.views, ...columns].map((one) => Math.abs(one.contribution)), 0);
  const box = make("section", {}, make("h2", {}, "What each view contributes"),
    make("p", {className: "muted"}, classes ? `What the score for ${top} loses without it.` : "What the prediction loses without it."));
  for (const view of found.views) {
    if (view.missing) {
      box.append(make("div", {className: "row"}, make("span", {}, view.view), make("span", {className: "muted"}, "missing"), ""));
      continue;
    }
    const inside = make("details", {open: open.has(view.view) || found.views.length < 4});
    inside.addEventListener("toggle", () => (inside.open ? open.add(view.view) : open.delete(view.view)));
    inside.append(make("summary", {}, line(view.view, view.contribution, most, true)));
    const sorted = view.columns.sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
    for (const column of sorted.slice(0, MOST_COLUMNS)) {
      if (sorted.length > 1 || !column.terms.length) inside.append(line(column.column, column.contribution, most, true));
      const highest = Math.max(...column.terms.map((one) => Math.abs(one.contribution)), 0);
      if (column.terms.length > 1 || (column.terms.length && sorted.length === 1)) inside.append(terms(column.terms, highest));
    }
    if (sorted.length > MOST_COLUMNS) inside.append(make("div", {className: "row muted"}, make("span", {}, `${sorted.length - MOST_COLUMNS} more columns`)));
    box.append(inside);
  }
  parts.push(box);
  answer.replaceChildren(...parts);
}

addFields();
form.addEventListener("input", show);
form.addEventListener("submit", (event) => event.preventDefault());
show();
