// Map: every architecture at its place, coloured by a label; a query lands among its neighbours.

import { search } from "./api.js";
import { columns } from "./columns.js";
import { combobox } from "./combobox.js";
import { el } from "./dom.js";
import { whole } from "./format.js";
import { link } from "./links.js";
import { MapCanvas, packed } from "./map_canvas.js";
import { label, targetOf } from "./models.js";
import { palette, rest } from "./theme.js";

const COLOURS = { family: "Family", block: "Block", task: "Task", source: "Library" };
const NEIGHBOURS = 12;
const MOST_VALUES = 200;
// A neighbour's weight halves with every so much that its score lies behind the first one's.
const HALVING = 0.02;

export async function mapView(main, { query }, signal) {
  document.title = "Map · NAR";
  main.append(el("p", { class: "busy" }, "Reading the map …"));
  const known = await columns(signal);
  main.replaceChildren();
  if (!known.points) {
    main.append(el("p", { class: "error" }, "This index has no map. `nar atlas draw` makes the map of an atlas."));
    return;
  }
  const colour = COLOURS[query.colour] ? query.colour : "family";
  const canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": `Map of ${whole(known.names.length)} architectures. Arrows move it, plus and minus zoom.` });
  const tip = el("p", { class: "tip", role: "status" });
  const map = new MapCanvas(canvas, known.points, {
    hovered: (row) => { tip.textContent = row < 0 ? "" : told(known, row); },
    picked: (row) => { location.hash = link("map", { ...query, at: known.names[row] }); },
  });
  const near = el("section", { class: "near", "aria-live": "polite" });
  const legend = el("section", { class: "legend", "aria-label": "Legend" });
  const stage = el("div", { class: "stage" }, canvas, tip, zoomButtons(map));
  main.append(el("div", { class: "map" }, stage, el("aside", {}, boxes(query, colour), near, legend)));
  let first = [];
  const paint = () => colourBy(map, known, colour, legend, first);
  paint();
  addEventListener("nar:theme", paint, { signal });
  canvas.map = map;
  if (!query.at) return;
  await land(map, known, query, near, signal);
  first = frequent(map, known.labels[colour].codes);
  paint();
}

// The values of what is in sight, the most frequent first.
function frequent(map, codes) {
  const counts = new Map();
  for (const row of map.inSight()) counts.set(codes[row], (counts.get(codes[row]) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([code]) => code);
}

function boxes(query, colour) {
  const choice = el("select", { onchange: (event) => { location.hash = link("map", { ...query, colour: event.target.value }); } },
    Object.entries(COLOURS).map(([value, text]) => el("option", { value, selected: value === colour }, text)));
  const box = combobox({
    value: query.at ?? "", title: "Find on the map", hint: "find a name",
    take: (name) => { location.hash = link("map", { ...query, at: name }); },
  });
  return el("div", { class: "boxes" }, box, el("label", {}, "Colour ", choice));
}

function zoomButtons(map) {
  const button = (text, name, work) => el("button", { type: "button", "aria-label": name, onclick: work }, text);
  return el("div", { class: "zoom" }, button("+", "Zoom in", () => map.zoomBy(1.6)), button("−", "Zoom out", () => map.zoomBy(1 / 1.6)),
    button("○", "Show all", () => map.reset()));
}

function told(known, row) {
  const parts = ["family", "task"].map((name) => known.labels[name].values[known.labels[name].codes[row]]);
  return [known.names[row], ...parts].join(" · ");
}

// The most frequent values have a colour of their own, the values of `first` before all others;
// values that are clicked are shown alone, and then have the colours.
function colourBy(map, known, label, legend, first = []) {
  const { values, codes } = known.labels[label];
  const named = palette();
  const chosen = [];
  const order = [...new Set([...first, ...values.keys()])];
  const rankOf = new Map(order.map((code, at) => [code, at]));
  const colour = (code) => named[chosen.length ? chosen.indexOf(code) : rankOf.get(code)] ?? rest();
  const counts = new Uint32Array(values.length);
  for (const code of codes) counts[code]++;
  const search = el("input", { type: "text", placeholder: `filter ${whole(values.length)} values`, "aria-label": "Filter the legend" });
  const list = el("ul", {});
  const show = () => {
    const colours = values.map((_, code) => packed(colour(code)));
    const isShown = values.map((_, code) => (!chosen.length || chosen.includes(code) ? 1 : 0));
    for (let row = 0; row < codes.length; row++) {
      map.colours[row] = colours[codes[row]];
      map.shown[row] = isShown[codes[row]];
    }
    map.paint();
    for (const item of list.children) {
      item.querySelector("i").style.background = colour(Number(item.dataset.code));
      item.querySelector("button").setAttribute("aria-pressed", String(chosen.includes(Number(item.dataset.code))));
    }
  };
  const toggle = (code) => {
    const at = chosen.indexOf(code);
    if (at < 0) chosen.push(code);
    else chosen.splice(at, 1);
    show();
  };
  const fill = () => {
    const wanted = order.map((code) => [values[code], code]).filter(([value]) => value.includes(search.value)).slice(0, MOST_VALUES);
    list.replaceChildren(...wanted.map(([value, code]) => el("li", { "data-code": code },
      el("button", { type: "button", onclick: () => toggle(code) }, el("i", { "aria-hidden": "true" }), el("span", {}, value || "none"), el("small", {}, whole(counts[code]))))));
    show();
  };
  search.addEventListener("input", fill);
  fill();
  legend.replaceChildren(...(values.length > 12 ? [search] : []), list);
}

async function land(map, known, query, near, signal) {
  const name = query.at;
  near.replaceChildren(el("p", { class: "busy" }, "Asking …"));
  const [result] = await search([{ ...targetOf(name), topK: 2 * NEIGHBOURS }], signal);
  const hits = (result.hits ?? []).filter((hit) => known.row.has(hit.architecture.name)).slice(0, NEIGHBOURS);
  const rows = hits.map((hit) => known.row.get(hit.architecture.name));
  const own = known.row.get(name);
  const centre = own === undefined ? mean(known.points, hits, rows) : [known.points[2 * own], known.points[2 * own + 1]];
  map.frame(rows, centre);
  near.replaceChildren(
    el("h2", {}, el("a", { href: link("ask", name) }, label(name))),
    el("ol", {}, hits.map((hit, at) => el("li", { onpointerenter: () => map.lookAt(rows[at]), onpointerleave: () => map.lookAt(-1) },
      el("a", { href: link("map", { ...query, at: hit.architecture.name }), onfocus: () => map.lookAt(rows[at]) }, hit.architecture.name),
      el("small", {}, (hit.score ?? 0).toFixed(3))))));
}

// Where the query lands: the mean of its hits, the near ones counting more.
function mean(points, hits, rows) {
  let [x, y, total] = [0, 0, 0];
  rows.forEach((row, at) => {
    const weight = 2 ** (((hits[at].score ?? 0) - (hits[0].score ?? 0)) / HALVING);
    x += weight * points[2 * row];
    y += weight * points[2 * row + 1];
    total += weight;
  });
  return total ? [x / total, y / total] : null;
}
