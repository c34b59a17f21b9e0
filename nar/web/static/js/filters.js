// What hits must be: labels and a range of parameters, as the contract has them.

import { columns } from "./columns.js";
import { el } from "./dom.js";
import { counted } from "./format.js";

const LABELS = { family: "families", task: "tasks", block: "blocks", tier: "tiers", source: "sources" };
const NEAR = 3;
// The share of pairs from which on a value may be what was meant.
const ALIKE = 0.5;
const RANGE = ["least", "most"];
const BY = {
  BY_DESIGN: "the whole design",
  BY_FAMILY: "what it is for",
  BY_TRUNK: "what it stands on",
  BY_COPY: "as much as a copy",
};

// The filter of a query; undefined where nothing is asked for.
export function filterOf(query) {
  const filter = {};
  for (const [name, field] of Object.entries(LABELS)) if (query[name]) filter[field] = [query[name]];
  const [least, most] = RANGE.map((name) => counted(query[name] ?? ""));
  if (least !== null || most !== null) {
    filter.parameters = { ...(least !== null && { minimum: String(least) }), ...(most !== null && { maximum: String(most) }) };
  }
  return Object.keys(filter).length ? filter : undefined;
}

// The form beside the hits; `changed(query)` gets what is wanted now.
export function filterForm(query, changed) {
  const form = el("form", { class: "filters", "aria-label": "Filters", onsubmit: (event) => event.preventDefault() });
  const tell = () => changed(Object.fromEntries([...new FormData(form)].filter(([, value]) => value)));
  const shares = el("select", { name: "by" }, Object.entries(BY).map(([value, text]) =>
    el("option", { value: value === "BY_DESIGN" ? "" : value, selected: (query.by || "BY_DESIGN") === value }, text)));
  form.append(el("label", {}, "Shared", shares));
  for (const name of Object.keys(LABELS)) {
    const values = el("datalist", { id: `values-${name}` });
    form.append(el("label", {}, name[0].toUpperCase() + name.slice(1),
      el("input", { name, value: query[name] ?? "", list: values.id, autocomplete: "off" })), values);
  }
  form.append(el("fieldset", { class: "range" }, el("legend", {}, "Parameters"),
    el("input", { name: "least", value: query.least ?? "", placeholder: "from", "aria-label": "At least so many parameters" }),
    el("input", { name: "most", value: query.most ?? "", placeholder: "to 30M", "aria-label": "At most so many parameters" })));
  form.append(el("button", { type: "button", class: "quiet", onclick: () => changed({}) }, "Clear"));
  form.addEventListener("change", tell);
  form.addEventListener("focusin", () => fill(form), { once: true });
  return form;
}

// What of a query is no number where one is wanted, in a sentence each: it does not filter.
export function unread(query) {
  return RANGE.filter((name) => query[name] && counted(query[name]) === null)
    .map((name) => `${query[name]} is no number of parameters: write 30M, or 30000000.`);
}

// What of a query no architecture has, in a sentence each, with what it may have been.
export async function misspelt(query, signal) {
  const known = await columns(signal);
  const isUnknown = (name) => query[name] && !known.labels[name].values.includes(query[name]);
  return Object.keys(LABELS).filter(isUnknown).map((name) => {
    const near = alike(query[name], known.labels[name].values);
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

async function fill(form) {
  const known = await columns();
  for (const name of Object.keys(LABELS)) {
    form.querySelector(`#values-${name}`).replaceChildren(...known.labels[name].values.map((value) => el("option", { value })));
  }
}
