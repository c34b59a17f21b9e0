// The verdict: what the answer says a model is, in a sentence, before any table.

import { el } from "./dom.js";
import { link } from "./links.js";
import { isOwn, label } from "./models.js";

const SHOWN = 4;
const KINDS = [
  ["sameNetwork", "Known", "the same network as"],
  ["sameAtInference", "Same at inference", "once batch norms are folded and branches merged, the same as"],
  ["sameDesign", "Same design", "in other widths, the same as"],
];

export function isKnown(result) {
  return KINDS.some(([field]) => result[field]?.length);
}

// What a model is: known as this and that, or else what it is like, as the server says it.
export function verdict(name, result, like) {
  const [kind, title, text] = KINDS.find(([field]) => result[field]?.length) ?? [];
  const box = el("section", { class: `verdict ${kind ? "known" : ""}`, "aria-label": "Verdict" });
  box.append(el("h1", {}, label(name)));
  if (kind) {
    box.append(el("p", { class: "lead" }, el("strong", {}, `${title}: `), `${text} `, names(result[kind])));
    for (const [other, , also] of KINDS) {
      if (other !== kind && result[other]?.length) box.append(el("p", { class: "dim" }, `Also ${also} `, names(result[other])));
    }
  } else {
    box.append(el("p", { class: "lead" }, el("strong", {}, linked(like)), isOwn(name) ? howNew(result) : ""));
  }
  return box;
}

// The sentence, with the model that it names as a link.
function linked({ before, name, after }) {
  return [before, name ? el("a", { href: link("ask", name) }, name) : "", after];
}

function howNew({ novelty }) {
  if (novelty === undefined) return "";
  return ` Of 100 designs of known families, ${Math.round(novelty)} have a nearer relative.`;
}

function names(hits) {
  const shown = hits.slice(0, SHOWN).map(({ architecture }, at) => [at ? ", " : "", hit(architecture)]);
  return [shown, hits.length > SHOWN ? ` and ${hits.length - SHOWN} more` : "", "."];
}

function hit(architecture) {
  return el("a", { href: link("ask", architecture.name) }, architecture.name);
}
