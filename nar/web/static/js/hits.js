// Hits: one row a network, its copies beside it; arrows move from row to row.

import { el } from "./dom.js";
import { human } from "./format.js";
import { link } from "./links.js";

export function hitTable(asked, hits) {
  const rows = networks(hits, asked);
  if (!rows.length) return el("p", { class: "dim", role: "status" }, "No architecture of the index passes these filters.");
  const body = el("tbody", {}, rows.map((copies, at) => row(asked, at, copies)));
  body.addEventListener("keydown", move);
  return el("table", { class: "hits" },
    el("caption", {}, "Nearest architectures. Score: the cosine of two vectors, 1 where they are equal."),
    el("thead", {}, el("tr", {}, ["Architecture", "Family", "Task", "Parameters", "Score", ""].map((name, at) =>
      el("th", { scope: "col", class: at === 3 || at === 4 ? "number" : null }, name)))),
    body);
}

// Hits of equal networks stand together, in the place of the first.
function networks(hits, asked) {
  const known = new Map();
  for (const hit of hits) {
    const key = hit.architecture.exact;
    known.set(key, [...(known.get(key) ?? []), hit]);
  }
  return [...known.values()].map((copies) => standing(copies, asked));
}

// The name that was asked stands for all copies, or the first copy of their commonest family: a
// wrapper belongs to what it wraps.
function standing(copies, asked) {
  const count = ({ architecture: { family } }) => copies.filter((each) => each.architecture.family === family).length;
  const own = copies.find((each) => each.architecture.name === asked);
  const shown = own ?? copies.reduce((best, each) => (count(each) > count(best) ? each : best));
  return [shown, ...copies.filter((each) => each !== shown)];
}

function row(asked, at, copies) {
  const [{ architecture, score = 0 }] = copies;
  const others = copies.slice(1).map((copy) => copy.architecture.name);
  const bar = el("span", { class: "score-bar", "aria-hidden": "true" });
  bar.style.width = `${Math.max(0, Math.min(1, score)) * 100}%`;
  return el("tr", {},
    el("th", { scope: "row" }, el("a", { class: "name", href: link("ask", architecture.name), tabindex: at ? "-1" : "0" }, architecture.name),
      others.length ? el("details", { class: "copies" }, el("summary", {}, `${others.length} more of this network`), el("ul", {}, others.map((name) => el("li", {}, el("a", { href: link("ask", name) }, name))))) : null,
      ownLabels(architecture.labels)),
    el("td", { "data-label": "Family" }, architecture.family),
    el("td", { "data-label": "Task" }, architecture.task),
    el("td", { class: "number", "data-label": "Parameters" }, human(architecture.parameters)),
    el("td", { class: "number score", "data-label": "Score" }, score.toFixed(3), bar),
    el("td", { class: "actions" }, el("a", { href: link("model", architecture.name), "aria-label": `Blocks of ${architecture.name}` }, "blocks"), " ",
      el("a", { href: link("diff", asked, architecture.name), "aria-label": `Compare with ${architecture.name}` }, "compare")));
}

// Labels of the user's own; the page has no line for architectures without.
function ownLabels(labels) {
  const texts = Object.entries(labels ?? {}).sort().map(([key, value]) => `${key}=${value}`);
  return texts.length ? el("div", { class: "dim labels" }, texts.join(", ")) : null;
}

function move(event) {
  const steps = { ArrowDown: 1, ArrowUp: -1 };
  const step = steps[event.key];
  const names = [...event.currentTarget.querySelectorAll("a.name")];
  const at = names.indexOf(document.activeElement);
  if (!step || at < 0) return;
  event.preventDefault();
  const next = names[Math.max(0, Math.min(names.length - 1, at + step))];
  names.forEach((each) => each.setAttribute("tabindex", each === next ? "0" : "-1"));
  next.focus();
}
