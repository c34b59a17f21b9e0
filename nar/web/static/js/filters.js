// What hits must be: labels and ranges, as the server's table of conditions has them.

import { columns } from "./columns.js";
import { el } from "./dom.js";
import { counted } from "./format.js";

const NEAR = 3;
// The share of pairs from which on a value may be what was meant.
const ALIKE = 0.5;
// The end of a range by the beginning of its name in an address: the command line has it, too.
const ENDS = { min: "minimum", max: "maximum" };
const BY = {
  BY_DESIGN: "the whole design",
  BY_FAMILY: "what it is for",
  BY_TRUNK: "what it stands on",
  BY_COPY: "as much as a copy",
  BY_ORIGIN: "what it was made from",
};

// What is one text of several: a label of rows, or a word of their cards.
const isText = ({ is_range: isRange }) => !isRange;

// The names in an address of both ends of a range, each with the field of the contract.
function endsOf({ flag }) {
  return Object.entries(ENDS).map(([end, field]) => [`${end}-${flag}`, field]);
}

// The filter of a query; undefined where nothing is asked for.
export function filterOf(query, table) {
  const filter = {};
  for (const { column, field } of table.filter(isText)) if (query[column]) filter[field] = [query[column]];
  for (const range of table.filter((each) => each.is_range)) {
    const bounds = endsOf(range).map(([name, end]) => [end, counted(query[name] ?? "")]).filter(([, bound]) => bound !== null);
    if (bounds.length) filter[range.field] = Object.fromEntries(bounds.map(([end, bound]) => [end, String(bound)]));
  }
  if (query.where) filter.where = query.where;
  return Object.keys(filter).length ? filter : undefined;
}

// The form beside the hits; `changed(query)` gets what is wanted now.
export function filterForm(query, table, changed) {
  const form = el("form", { class: "filters", "aria-label": "Filters", onsubmit: (event) => event.preventDefault() });
  const tell = () => changed(Object.fromEntries([...new FormData(form)].filter(([, value]) => value)));
  const shares = el("select", { name: "by" }, Object.entries(BY).map(([value, text]) =>
    el("option", { value: value === "BY_DESIGN" ? "" : value, selected: (query.by || "BY_DESIGN") === value }, text)));
  form.append(el("label", {}, "Shared", shares), ...table.map((each) => (isText(each) ? labelField(query, each) : rangeField(query, each))));
  form.append(el("label", { title: "fields and labels of your own" }, "Condition",
    el("input", { name: "where", value: query.where ?? "", placeholder: 'team = "vision" and accuracy > 0.8', autocomplete: "off" })));
  form.append(el("button", { type: "button", class: "quiet", onclick: () => changed({}) }, "Clear"));
  form.addEventListener("change", tell);
  form.addEventListener("focusin", () => fill(form, table), { once: true });
  return form;
}

function labelField(query, { column, meaning }) {
  const values = el("datalist", { id: `values-${column}` });
  return el("label", { title: meaning }, titled(column),
    el("input", { name: column, value: query[column] ?? "", list: values.id, autocomplete: "off" }), values);
}

function rangeField(query, range) {
  const [least, most] = endsOf(range).map(([name]) => name);
  return el("fieldset", { class: "range", title: range.meaning }, el("legend", {}, titled(range.column)),
    el("input", { name: least, value: query[least] ?? "", placeholder: "from", "aria-label": `At least so many ${range.column}` }),
    el("input", { name: most, value: query[most] ?? "", placeholder: "to 30M", "aria-label": `At most so many ${range.column}` }));
}

function titled(word) {
  return word[0].toUpperCase() + word.slice(1);
}

// What of a query is no number where one is wanted, in a sentence each: it does not filter.
export function unread(query, table) {
  return table.filter((each) => each.is_range).flatMap((range) => endsOf(range)
    .filter(([name]) => query[name] && counted(query[name]) === null)
    .map(([name]) => `${query[name]} is no number of ${range.column}: write 30M, or 30000000.`));
}

// What of a query no architecture has, in a sentence each, with what it may have been.
export async function misspelt(query, table, signal) {
  const known = await columns(signal);
  const words = Object.fromEntries(table.filter(isText).map((each) => [each.column, each.words]));
  const valuesOf = (name) => (words[name].length ? words[name] : known.labels[name].values);
  const labels = Object.keys(words);
  return labels.filter((name) => query[name] && !valuesOf(name).includes(query[name])).map((name) => {
    const near = alike(query[name], valuesOf(name));
    return `No architecture has the ${name} ${query[name]}${near.length ? `; near: ${near.join(", ")}` : ""}.`;
  });
}

// The values that share most pairs of neighbouring letters with a text.
function alike(text, values) {
  const wanted = pairs(text);
  const share = (value) => {
    const own = pairs(value);
    return [...own].filter((pair) => wanted.has(pair)).length / Math.max(own.size, wanted.size);
  };
  const near = values.map((value) => [share(value), value]).filter(([each]) => each >= ALIKE);
  return near.sort((a, b) => b[0] - a[0]).slice(0, NEAR).map(([, value]) => value);
}

function pairs(text) {
  const letters = [...` ${text.toLowerCase()} `];
  return new Set(letters.slice(1).map((letter, at) => letters[at] + letter));
}

async function fill(form, table) {
  const known = await columns();
  for (const { column, words } of table.filter(isText)) {
    const values = words.length ? words : known.labels[column].values;
    form.querySelector(`#values-${column}`).replaceChildren(...values.map((value) => el("option", { value })));
  }
}
