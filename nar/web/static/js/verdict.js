// The verdict: what the answer says a model is, in the server's sentences, before any table.

import { el } from "./dom.js";
import { link } from "./links.js";
import { isOwn, label } from "./models.js";

// What is read before any other sentence.
const KNOWN = ["same_network", "same_at_inference", "same_design", "wrapped"];
const LEAD = ["stale_since", "assumed.doubts", "unread", ...KNOWN, "resemblance"];
// And of a model that is not known: an exact body or part says most.
const EXACT = ["bodies", "part_of"];
// What the page asks beside the hits: of every model, and of a new one.
export const PARTS = ["PART_FAMILY", "PART_TRUNK", "PART_PART_OF", "PART_CHANGES", "PART_CARD"];
export const PARTS_IF_NEW = ["PART_RESEMBLANCE", "PART_BODIES", "PART_COVERAGE"];

export function verdict(name, { sentences = [] }) {
  const known = sentences.some(({ part }) => KNOWN.includes(part));
  const leads = sentences.filter(({ part }) => LEAD.includes(part) || (!known && EXACT.includes(part)));
  // Of a model of the index nobody asks whether it is new.
  const others = sentences.filter((each) => !leads.includes(each) && (each.part !== "novelty" || isOwn(name)));
  return el("section", { class: `verdict ${known ? "known" : ""}`, "aria-label": "Verdict" },
    el("h1", {}, label(name)),
    leads.map((each) => el("p", { class: "lead" }, el("strong", {}, linked(each)))),
    others.map((each) => el("p", { class: "dim" }, linked(each))));
}

// A sentence, with the models that it names as links.
function linked({ text, names = [] }) {
  const pieces = [];
  let rest = text;
  for (const name of names) {
    const at = rest.indexOf(name);
    pieces.push(rest.slice(0, at), el("a", { href: link("ask", name) }, name));
    rest = rest.slice(at + name.length);
  }
  return [...pieces, rest];
}
