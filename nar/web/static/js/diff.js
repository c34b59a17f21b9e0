// Compare: two models side by side, their blocks aligned by what they are; names play no part.

import { post } from "./api.js";
import { kindOf, nameOf } from "./blocks.js";
import { combobox } from "./combobox.js";
import { el } from "./dom.js";
import { human, whole } from "./format.js";
import { link } from "./links.js";
import { label, targetOf } from "./models.js";

const SIDES = ["first", "second"];
// Chosen: fewer equal rows take no more room than the line that would stand for them.
const FOLDED = 3;

export async function diffView(main, { parts: [first, second] }, signal) {
  document.title = first && second ? `${label(first)} and ${label(second)} · NAR` : "Compare · NAR";
  const go = (...names) => { location.hash = link("diff", ...names.filter(Boolean)); };
  main.append(el("div", { class: "pair" },
    combobox({ value: first ?? "", title: "First architecture", hint: "first", take: (name) => go(name, second) }),
    combobox({ value: second ?? "", title: "Second architecture", hint: "second", take: (name) => (first ? go(first, name) : go(name)) })));
  if (!first || !second) {
    main.append(el("p", { class: "dim" }, "Name two architectures, or drop a file and compare it. The address of this page can be shared."));
    return;
  }
  const busy = el("p", { class: "busy" }, "Comparing …");
  main.append(busy);
  const named = (name) => ({ ...targetOf(name), name: label(name) });
  const told = await post("/page/diff", { first: named(first), second: named(second) }, signal);
  busy.replaceWith(verdict(told), facts(told), el("p", { class: "tools" }, el("button", { type: "button", class: "quiet", onclick: () => go(second, first) }, "Swap")), rows(told, [first, second]), operators(told));
}

function verdict(told) {
  return el("section", { class: "verdict", "aria-label": "Verdict" }, el("p", { class: "lead" }, el("strong", {}, told.verdict), " ", el("strong", {}, told.changes), " ", told.shared));
}

function facts(told) {
  const lines = [["Parameters", "parameters", human], ["FLOPs", "flops", human], ["Operators", "nodes", whole], ["Values passed", "edges", whole]];
  return el("table", { class: "numbers" }, el("thead", {}, el("tr", {}, el("td"), SIDES.map((side) => el("th", { scope: "col", class: "number" }, told[side].name)), el("th", { scope: "col", class: "number" }, "ratio"))),
    el("tbody", {}, lines.map(([name, field, shown]) => {
      const [a, b] = SIDES.map((side) => told[side][field]);
      return el("tr", {}, el("th", { scope: "row" }, name), [a, b].map((value) => el("td", { class: "number" }, shown(value))), el("td", { class: "number dim" }, a ? `×${(b / a).toFixed(2)}` : ""));
    })));
}

function rows(told, names) {
  const shared = new Set(told.first.motifs.map((each) => each.code).filter((code) => told.second.motifs.some((each) => each.code === code)));
  const cell = (side, at) => (at === null ? el("div", { class: "gap" }) : card(told[side], at, names[SIDES.indexOf(side)], shared));
  return el("section", { class: "aligned", "aria-label": "Blocks side by side" },
    SIDES.map((side) => el("h2", {}, told[side].name)),
    runs(told).map(({ same, rows: run }) => {
      const cells = run.map(([one, two]) => [cell("first", one), cell("second", two)]);
      return same && run.length >= FOLDED ? el("details", { class: "folded" }, el("summary", {}, `${run.length} equal rows`), el("div", { class: "within" }, cells)) : cells;
    }));
}

// Neighbouring rows that are equal on both sides, or that are not, together.
function runs(told) {
  const drawn = (side, at) => {
    const { drawn: nodes, motifs, repeats } = told[side];
    return at === null ? null : [motifs[nodes[at].kind].code, nodes[at].count, repeats[nodes[at].group]].join();
  };
  const found = [];
  for (const row of told.rows) {
    const same = drawn("first", row[0]) === drawn("second", row[1]);
    if (found.at(-1)?.same !== same) found.push({ same, rows: [] });
    found.at(-1).rows.push(row);
  }
  return found;
}

function card(view, at, name, shared) {
  const node = view.drawn[at];
  const motif = view.motifs[node.kind];
  const repeats = view.repeats[node.group];
  const times = [node.count > 1 ? `×${node.count}` : "", repeats > 1 ? `in a group ×${repeats}` : ""].filter(Boolean).join(", ");
  return el("a", { class: `card ${kindOf(motif)} ${shared.has(motif.code) ? "" : "alone"}`, href: link("model", name, { block: motif.code }) },
    el("span", {}, nameOf(motif)), el("small", {}, `${motif.operators.length} operators`, times ? el("b", {}, ` ${times}`) : "", shared.has(motif.code) ? "" : " · only here"));
}

function operators(told) {
  const most = Math.max(...told.operators.flatMap((each) => [each.first, each.second]), 1);
  const bar = (value) => {
    const node = el("i", { "aria-hidden": "true" });
    node.style.width = `${(100 * value) / most}%`;
    return el("td", { class: "number bar" }, node, whole(value));
  };
  return el("details", { class: "operators", open: true }, el("summary", {}, "Operators of both"), el("table", {}, el("tbody", {}, told.operators.map((each) =>
    el("tr", { class: each.first === each.second ? "dim" : null }, el("th", { scope: "row" }, each.operator), bar(each.first), bar(each.second))))));
}
