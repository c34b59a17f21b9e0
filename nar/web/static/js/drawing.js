// Drawn graphs: laid out by a worker, then put on the page as SVG.

import { svg } from "./dom.js";

let worker = null;
let asked = 0;
const waiting = new Map();

export function laidOut(nodes, links, down = true) {
  if (!worker) {
    worker = new Worker("js/layout_worker.js", { type: "module" });
    worker.onmessage = ({ data }) => {
      waiting.get(data.id)(data);
      waiting.delete(data.id);
    };
  }
  const id = ++asked;
  return new Promise((resolve) => {
    waiting.set(id, resolve);
    worker.postMessage({ id, nodes: nodes.map(({ width, height }) => ({ width, height })), links, down });
  });
}

// `boxes(centres)` gives what stands behind the lines, `node(at)` the contents of a node around 0, 0.
export function drawn(title, layout, node, boxes = () => []) {
  const picture = svg("svg", {
    viewBox: `0 0 ${Math.ceil(layout.width)} ${Math.ceil(layout.height)}`, width: Math.ceil(layout.width), height: Math.ceil(layout.height), role: "group", "aria-label": title,
  });
  picture.append(svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" },
    svg("path", { d: "M0 0 8 4 0 8z", class: "arrow" }))));
  picture.append(...boxes(layout.centres));
  picture.append(...layout.lines.map((points) => svg("path", { class: "line", d: curve(points), "marker-end": "url(#arrow)" })));
  picture.append(...layout.centres.map(({ x, y }, at) => svg("g", { transform: `translate(${x} ${y})` }, node(at))));
  return picture;
}

// Through the points, rounded at each.
function curve(points) {
  const [first, ...others] = points;
  let path = `M${first.x} ${first.y}`;
  for (let at = 0; at < others.length - 1; at++) {
    const middle = { x: (others[at].x + others[at + 1].x) / 2, y: (others[at].y + others[at + 1].y) / 2 };
    path += ` Q${others[at].x} ${others[at].y} ${at === others.length - 2 ? others.at(-1).x : middle.x} ${at === others.length - 2 ? others.at(-1).y : middle.y}`;
  }
  return others.length === 1 ? `${path} L${others[0].x} ${others[0].y}` : path;
}
