// Models of one's own: what was dropped or pasted has a name here, as architectures have theirs.

const PREFIX = "yours:";
const KEPT_CHARACTERS = 4_000_000;
const graphs = new Map();

export function isOwn(name) {
  return name.startsWith(PREFIX);
}

// Keep a graph in this tab; returns its name.
export function keep(label, graph) {
  const name = PREFIX + label;
  graphs.set(name, graph);
  const text = JSON.stringify(graph);
  try {
    if (text.length < KEPT_CHARACTERS) sessionStorage.setItem(name, text);
  } catch {
    // The tab has no room: it lasts until the page is loaded anew.
  }
  return name;
}

function graphOf(name) {
  if (!graphs.has(name) && sessionStorage.getItem(name)) {
    graphs.set(name, JSON.parse(sessionStorage.getItem(name)));
  }
  return graphs.get(name);
}

export function ownNames() {
  const stored = Object.keys(sessionStorage).filter(isOwn);
  return [...new Set([...graphs.keys(), ...stored])];
}

// What a request says of a model: its name, or its graph.
export function targetOf(name) {
  if (!isOwn(name)) return { architecture: name };
  const graph = graphOf(name);
  if (!graph) throw new Error(`${name.slice(PREFIX.length)} is known only in the tab in which it was dropped: drop it here again.`);
  return { graph };
}

export function label(name) {
  return isOwn(name) ? name.slice(PREFIX.length) : name;
}
