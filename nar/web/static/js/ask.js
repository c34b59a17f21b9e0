// Ask: a name, a file or a graph; first what it is, then what is near.

import { get, search } from "./api.js";
import { combobox } from "./combobox.js";
import { copyTools } from "./copying.js";
import { el } from "./dom.js";
import { filterForm, filterOf, misspelt, unread } from "./filters.js";
import { hitTable } from "./hits.js";
import { link } from "./links.js";
import { keep, label, targetOf } from "./models.js";
import { offers } from "./offers.js";
import { forget, recent, remember } from "./recent.js";
import { PARTS, PARTS_IF_NEW, verdict } from "./verdict.js";

const ASKED = 20;
const EXAMPLES = ["timm:resnet50", "timm:vit_base_patch16_224", "transformers:bert/BertForMaskedLM", "timm:convnext_tiny"];

export async function askView(main, { parts: [name], query }, signal) {
  document.title = name ? `${label(name)} · NAR` : "NAR";
  const box = combobox({
    value: name ?? "", title: "Name of an architecture", hint: "timm:resnet50, or drop an ONNX file here",
    take: (taken) => { location.hash = link("ask", taken); },
  });
  main.append(el("div", { class: "asking" }, box, fileButton()));
  if (!name) {
    main.append(welcome());
    if (matchMedia("(pointer: fine)").matches) box.querySelector("input").focus();
    return;
  }
  const answer = el("div", { class: "answer", "aria-live": "polite" }, el("p", { class: "busy" }, "Asking …"));
  main.append(answer);
  const target = targetOf(name);
  const { conditions: table } = await offers(signal);
  const asked = { ...target, topK: ASKED, counted: "COUNTED_NETWORKS", filter: filterOf(query, table), by: query.by, parts: PARTS, partsIfNew: PARTS_IF_NEW };
  const [result] = await search([asked], signal).catch((error) => alike(error, name, signal));
  const hits = result.hits ?? [];
  const faults = [...unread(query, table), ...(hits.length ? [] : await misspelt(query, table, signal))];
  remember(name);
  answer.replaceChildren(verdict(name, result), tools(name), copyTools(result));
  const changed = (wanted) => { location.hash = link("ask", name, wanted); };
  main.append(el("div", { class: "columns" }, filterForm(query, table, changed),
    el("div", {}, faults.map((text) => el("p", { class: "error", role: "alert" }, text)), hitTable(name, hits))));
}

// A name that nothing has is refused with what is called alike.
async function alike(error, name, signal) {
  if (error.http === 404) error.near = await get(`/page/names?text=${encodeURIComponent(name)}`, signal).catch(() => []);
  throw error;
}

function tools(name) {
  const second = (text, address) => el("a", { class: "button", href: address }, text);
  return el("p", { class: "tools" },
    second("See its blocks", link("model", name)),
    second("Find it on the map", link("map", { at: name })),
    second("Compare it", link("diff", name)));
}

function fileButton() {
  const input = el("input", {
    type: "file", class: "hidden", id: "file",
    onchange: () => input.files[0] && dispatchEvent(new CustomEvent("nar:file", { detail: input.files[0] })),
  });
  offers().then(({ files }) => { input.accept = Object.keys(files).join(","); }, () => {});
  return el("span", {}, input, el("label", { class: "button", for: "file" }, "Open a file"));
}

function welcome() {
  const kinds = el("span", {}, "a file");
  offers().then(({ files }) => { kinds.textContent = Object.entries(files).map(([end, kind]) => `${kind} (${end})`).join(", "); }, () => {});
  const area = el("textarea", { rows: 6, spellcheck: "false", "aria-label": "A graph as JSON", placeholder: '{"operators": ["input", "conv", "relu"], "nodes": [0, 1, 2], "edgeIndex": {"sources": [0, 1], "targets": [1, 2]}}' });
  const said = el("p", { class: "error", role: "alert", hidden: true });
  const take = () => {
    try {
      location.hash = link("ask", keep("pasted graph", JSON.parse(area.value)));
    } catch (error) {
      said.hidden = false;
      said.textContent = `This is no JSON: ${error.message}`;
    }
  };
  return el("section", { class: "welcome" },
    el("h1", {}, "What is this network, and what is like it?"),
    el("p", {}, "Type the name of a known architecture, or drop a model: ", kinds, ". Only its graph is kept, never its weights, and nothing leaves this server."),
    el("p", { class: "examples" }, "For example ", EXAMPLES.map((each) => [el("a", { href: link("ask", each) }, each), " "])),
    lately(),
    el("details", {}, el("summary", {}, "Paste a graph"), area, said, el("button", { type: "button", onclick: take }, "Ask")));
}

// What was asked before; null where nothing was.
function lately() {
  const names = recent();
  if (!names.length) return null;
  const line = el("p", { class: "examples recent" }, "Asked lately ", names.map((each) => [el("a", { href: link("ask", each) }, label(each)), " "]),
    el("button", { type: "button", class: "quiet", onclick: () => { forget(); line.remove(); } }, "Forget"));
  return line;
}
