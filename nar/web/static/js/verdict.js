// The verdict: what the answer says a model is, in a sentence, before any table.

import { el } from "./dom.js";
import { link } from "./links.js";
import { isOwn, label } from "./models.js";

// Under this score, the nearest architecture has little in common with what was asked.
const NEAR = 0.75;
const SHOWN = 4;
const KINDS = [
  ["sameNetwork", "Known", "the same network as"],
  ["sameAtInference", "Same at inference", "once batch norms are folded and branches merged, the same as"],
  ["sameDesign", "Same design", "in other widths, the same as"],
];

export function verdict(name, result) {
  const [kind, title, text] = KINDS.find(([field]) => result[field]?.length) ?? [];
  const box = el("section", { class: `verdict ${kind ? "known" : ""}`, "aria-label": "Verdict" });
  box.append(el("h1", {}, label(name)));
  if (kind) {
    box.append(el("p", { class: "lead" }, el("strong", {}, `${title}: `), `${text} `, names(result[kind])));
    for (const [other, , also] of KINDS) {
      if (other !== kind && result[other]?.length) box.append(el("p", { class: "dim" }, `Also ${also} `, names(result[other])));
    }
  } else {
    box.append(el("p", { class: "lead" }, ...nearest(name, result)));
  }
  return box;
}

function nearest(name, result) {
  const [first] = result.hits ?? [];
  if (!first) return [el("strong", {}, "No hits: "), "no architecture of the index passes these filters."];
  const { architecture, score = 0 } = first;
  const words = score >= NEAR ? ["Nearest: "] : ["Nothing like it is known. Nearest: "];
  const novelty = result.novelty ?? null;
  const how = novelty === null || !isOwn(name) ? "" : ` Of 100 known designs, ${Math.round(novelty)} have a nearer relative than this one.`;
  return [el("strong", {}, words), hit(architecture), ` of the family ${architecture.family}, at ${score.toFixed(3)}.${how}`];
}

function names(hits) {
  const shown = hits.slice(0, SHOWN).map(({ architecture }, at) => [at ? ", " : "", hit(architecture)]);
  return [shown, hits.length > SHOWN ? ` and ${hits.length - SHOWN} more` : "", "."];
}

function hit(architecture) {
  return el("a", { href: link("ask", architecture.name) }, architecture.name);
}
