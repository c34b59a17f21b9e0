// Blocks: how a motif type is named, coloured and opened, wherever it is shown.

import { drawn, laidOut } from "./drawing.js";
import { el, svg } from "./dom.js";
import { summary, whole } from "./format.js";
import { link } from "./links.js";

const KINDS = [
  ["attention", ["attention", "rotary"]],
  ["convolution", ["conv", "conv_grouped", "conv_depthwise", "conv_transpose", "deform_conv", "sep_conv_3x3", "sep_conv_5x5", "dil_conv_3x3", "dil_conv_5x5"]],
  ["recurrence", ["lstm", "gru", "rnn", "state_space"]],
  ["product", ["linear", "matmul", "bilinear", "embedding", "outer"]],
];

// What it mostly does: the first of these that it holds.
export function kindOf(motif) {
  const operators = new Set(motif.operators.map((each) => each.name));
  return KINDS.find(([, names]) => names.some((name) => operators.has(name)))?.[0] ?? "other";
}

export function nameOf(motif, most = 4) {
  return summary(motif.operators.map((each) => each.name), most);
}

// The operators of a motif type as a graph.
export async function pictured(motif) {
  const nodes = motif.operators.map((operator) => ({ operator, width: Math.max(86, 7.4 * operator.name.length + 22), height: settings(operator) ? 40 : 26 }));
  const layout = await laidOut(nodes, motif.links);
  return el("div", { class: "drawing" }, drawn(`Operators of ${nameOf(motif)}`, layout, (at) => operatorNode(nodes[at])));
}

// A motif type of a model opened: its operators, how often it comes, and what else uses it.
export async function opened(motif, from) {
  const users = motif.users === null || motif.users === undefined
    ? null
    : el("p", {}, el("a", { class: "button", href: link("users", motif.code, { from }) }, `Used by ${whole(motif.users)} architectures`));
  return el("section", { class: "opened", "aria-label": "Opened block" },
    el("h2", {}, nameOf(motif, 6)),
    el("p", { class: "dim" }, `${motif.operators.length} operators, ${whole(motif.count)} times in this model · ${motif.code}`),
    users, await pictured(motif));
}

function operatorNode({ operator, width, height }) {
  const text = settings(operator);
  return [
    svg("rect", { x: -width / 2, y: -height / 2, width, height, rx: 6, class: "operator" }),
    svg("text", { y: text ? -3 : 4.5, "text-anchor": "middle" }, operator.name),
    text ? svg("text", { y: 12, "text-anchor": "middle", class: "small" }, text) : null,
  ];
}

function settings({ attributes }) {
  const parts = [];
  if (attributes.kernel) parts.push(`${attributes.kernel}×${attributes.kernel}`);
  if (attributes.stride > 1) parts.push(`/${attributes.stride}`);
  if (attributes.dilation > 1) parts.push(`dil ${attributes.dilation}`);
  if (attributes.heads) parts.push(`${attributes.heads} heads`);
  return parts.join(" ");
}
