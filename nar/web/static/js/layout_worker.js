// Lays graphs out beside the page, which goes on meanwhile.

import { Graph, layout } from "../vendor/dagre.js";

onmessage = ({ data: { id, nodes, links, down } }) => {
  const graph = new Graph({ multigraph: false });
  graph.setGraph({ rankdir: down ? "TB" : "LR", nodesep: 18, ranksep: 26, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  nodes.forEach((node, at) => graph.setNode(String(at), { width: node.width, height: node.height }));
  for (const [source, target] of links) graph.setEdge(String(source), String(target));
  layout(graph);
  const { width, height } = graph.graph();
  postMessage({
    id,
    width,
    height,
    centres: nodes.map((_, at) => {
      const { x, y } = graph.node(String(at));
      return { x, y };
    }),
    lines: links.map(([source, target]) => graph.edge(String(source), String(target)).points),
  });
};
