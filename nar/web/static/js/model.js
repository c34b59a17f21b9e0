// Model: its macro graph of blocks, with what repeats folded; a block opens into its operators.

import { post } from "./api.js";
import { kindOf, nameOf, opened } from "./blocks.js";
import { combobox } from "./combobox.js";
import { drawn, laidOut } from "./drawing.js";
import { el, svg } from "./dom.js";
import { human, whole } from "./format.js";
import { link } from "./links.js";
import { label, targetOf } from "./models.js";

const HEIGHT = 44;
const PADDING = 9;

export async function modelView(main, { parts: [name], query }, signal) {
  document.title = name ? `${label(name)} · blocks · NAR` : "Blocks · NAR";
  main.append(combobox({ value: name ?? "", title: "Name of an architecture", hint: "a name", take: (taken) => { location.hash = link("model", taken); } }));
  if (!name) return;
  const busy = el("p", { class: "busy" }, "Cutting into blocks …");
  main.append(busy);
  const view = await post("/page/model", { ...targetOf(name), name: label(name) }, signal);
  const nodes = view.drawn.map((each) => ({ ...each, motif: view.motifs[each.kind], height: HEIGHT, width: widthOf(view.motifs[each.kind], timesOf(each)) }));
  const layout = await laidOut(nodes, view.links);
  if (signal.aborted) return;
  const side = el("aside", { "aria-live": "polite" }, el("p", { class: "dim" }, "Choose a block to open it."));
  const open = async (at) => {
    for (const each of main.querySelectorAll(".block")) each.classList.toggle("same", each.dataset.kind === String(nodes[at].kind));
    side.replaceChildren(await opened(nodes[at].motif, name));
  };
  const picture = drawn(`Blocks of ${label(name)}`, layout, (at) => block(nodes[at], () => open(at)), (centres) => frames(view, nodes, centres));
  busy.replaceWith(
    el("h1", {}, label(name)), numbers(view),
    el("p", { class: "tools" }, el("a", { class: "button", href: link("ask", name) }, "What is like it"), el("a", { class: "button", href: link("diff", name) }, "Compare it"), kinds()),
    el("div", { class: "columns wide" }, el("div", { class: "drawing" }, picture), side));
  lookAtFirst(main.querySelector(".columns > .drawing"), layout);
  const wanted = nodes.findIndex((each) => each.motif.code === query.block);
  if (wanted >= 0) open(wanted);
}

// A wide graph begins with its first node in sight.
function lookAtFirst(box, layout) {
  const top = layout.centres.reduce((least, centre) => (centre.y < least.y ? centre : least));
  box.scrollLeft = top.x - box.clientWidth / 2;
}

function numbers(view) {
  const facts = { Parameters: human(view.parameters), FLOPs: human(view.flops), Operators: whole(view.nodes), "Kinds of block": whole(view.motifs.length) };
  return el("dl", { class: "facts" }, Object.entries(facts).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

function kinds() {
  return el("span", { class: "kinds" }, ["attention", "convolution", "product", "recurrence", "other"].map((kind) => el("span", { class: `kind ${kind}` }, kind)));
}

function timesOf({ count, is_chain: isChain }) {
  return count > 1 ? `×${count}${isChain ? "" : " side by side"}` : "";
}

function widthOf(motif, times) {
  return Math.max(120, 6.9 * nameOf(motif).length + 34, 6.9 * times.length + 116);
}

function block(node, open) {
  const { motif, kind, count, width, height } = node;
  const times = timesOf(node);
  const said = `${nameOf(motif)}, ${motif.operators.length} operators${times ? `, ${times}` : ""}`;
  return svg("g", {
    class: `block ${kindOf(motif)}`, tabindex: "0", role: "button", "aria-label": said, "data-kind": kind, onclick: open,
    onkeydown: (event) => ["Enter", " "].includes(event.key) && (event.preventDefault(), open()),
  },
  count > 1 ? svg("rect", { x: -width / 2 + 4, y: -height / 2 + 4, width, height, rx: 8, class: "behind" }) : null,
  svg("rect", { x: -width / 2, y: -height / 2, width, height, rx: 8 }),
  svg("rect", { x: -width / 2, y: -height / 2 + 8, width: 4, height: height - 16, rx: 2, class: "stripe" }),
  svg("text", { x: -width / 2 + 14, y: -3 }, nameOf(motif)),
  svg("text", { x: -width / 2 + 14, y: 13, class: "small" }, motif.operators.length === 1 ? "1 operator" : `${motif.operators.length} operators`),
  times ? svg("text", { x: width / 2 - 10, y: 13, "text-anchor": "end", class: "times" }, times) : null);
}

// A frame around the nodes of each group that comes several times.
function frames(view, nodes, centres) {
  return view.repeats.flatMap((repeats, group) => {
    const members = nodes.map((node, at) => [node, centres[at]]).filter(([node]) => node.group === group);
    if (repeats < 2) return [];
    const left = Math.min(...members.map(([node, centre]) => centre.x - node.width / 2)) - PADDING;
    const right = Math.max(...members.map(([node, centre]) => centre.x + node.width / 2)) + PADDING;
    const top = Math.min(...members.map(([node, centre]) => centre.y - node.height / 2)) - PADDING;
    const bottom = Math.max(...members.map(([node, centre]) => centre.y + node.height / 2)) + PADDING;
    return [svg("rect", { x: left, y: top, width: right - left, height: bottom - top, rx: 12, class: "frame" }),
      svg("text", { x: right - 8, y: top - 4, "text-anchor": "end", class: "times" }, `all of this ×${repeats}`)];
  });
}
