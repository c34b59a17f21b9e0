#include "wiring.hpp"

#include <algorithm>
#include <limits>

#include "hashing.hpp"

namespace nar {
namespace {

constexpr Code kLargest = std::numeric_limits<Code>::max();

void check(const Graph& graph, Run<std::uint8_t> properties) {
  // Sums of two numbers of nodes or edges fit into an Index, too.
  constexpr std::size_t most = std::numeric_limits<Index>::max() / 4;
  require(graph.op_ids.size > 0, "wanted at least one node");
  require(graph.op_ids.size < most && graph.source.size < most, "wanted fewer nodes and edges");
  require(properties.size == 65536, "wanted the properties of 65536 operators");
  const auto nodes = static_cast<Index>(graph.op_ids.size);
  Index last = 0;
  for (std::size_t edge = 0; edge < graph.source.size; ++edge) {
    const Index source = graph.source[edge], target = graph.target[edge];
    require(source >= 0 && source < target && target < nodes,
            "wanted edges from a node to a later node of the graph");
    require(target >= last, "wanted edges in the order of their targets");
    last = target;
  }
}

void find_places(Wiring& wires, const Salts& salts) {
  wires.in_start.assign(wires.nodes() + 1, 0);
  for (const Index target : wires.target) ++wires.in_start[target + 1];
  for (Index node = 0; node < wires.nodes(); ++node)
    wires.in_start[node + 1] += wires.in_start[node];
  wires.slot.resize(wires.edges());
  for (Index edge = 0; edge < wires.edges(); ++edge) {
    const bool ordered = !(wires.properties[wires.target[edge]] & kCommutative);
    wires.slot[edge] = ordered ? static_cast<Code>(wires.place(edge)) * salts.slot : 0;
  }
}

// Carry marks along edges, through operators without weights; all marks move at the same time.
Marks spread(Marks marked, const Wiring& wires, const Indices& start, const Indices& end,
             int reach) {
  for (int step = 0; step <= reach; ++step) {
    Marks next = marked;
    for (Index edge = 0; edge < wires.edges(); ++edge)
      if (marked[start[edge]] && !(wires.properties[start[edge]] & kWeighted)) next[end[edge]] = 1;
    if (next == marked) break;
    marked.swap(next);
  }
  return marked;
}

}  // namespace

Wiring wired(const Graph& graph, Run<std::uint8_t> properties, const Salts& salts) {
  check(graph, properties);
  Wiring wires;
  wires.op_ids.assign(graph.op_ids.begin(), graph.op_ids.end());
  wires.source.assign(graph.source.begin(), graph.source.end());
  wires.target.assign(graph.target.begin(), graph.target.end());
  wires.properties.reserve(wires.op_ids.size());
  for (const Index id : wires.op_ids) wires.properties.push_back(properties[id]);
  find_places(wires, salts);
  return wires;
}

Codes operator_codes(const Wiring& wires) {
  Codes codes;
  codes.reserve(wires.op_ids.size());
  for (const Index id : wires.op_ids) codes.push_back(mix(static_cast<Code>(id)));
  return codes;
}

Codes refine(Codes codes, const Wiring& wires, int steps, const Salts& salts,
             const Marks& inside) {
  Codes parents(codes.size()), top(codes.size()), bottom(codes.size());
  for (int step = 0; step < steps; ++step) {
    std::fill(parents.begin(), parents.end(), 0);
    std::fill(top.begin(), top.end(), 0);
    std::fill(bottom.begin(), bottom.end(), kLargest);
    for (Index edge = 0; edge < wires.edges(); ++edge) {
      if (!inside.empty() && !inside[edge]) continue;
      const Index source = wires.source[edge], target = wires.target[edge];
      parents[target] += mix(codes[source] + wires.slot[edge]);
      const Code seen = mix(codes[target] + wires.slot[edge] + salts.child);
      top[source] = std::max(top[source], seen);
      bottom[source] = std::min(bottom[source], seen);
    }
    for (std::size_t node = 0; node < codes.size(); ++node) {
      const bool has_child = top[node] >= bottom[node];
      const Code children = has_child ? mix(top[node]) + bottom[node] : salts.child;
      codes[node] = mix(codes[node] + parents[node] + children);
    }
  }
  return codes;
}

Marks at_border(const Wiring& wires, int reach) {
  Marks given(wires.nodes()), ends(wires.nodes(), 1);
  for (Index node = 0; node < wires.nodes(); ++node)
    given[node] = (wires.properties[node] & kInput) != 0;
  for (const Index source : wires.source) ends[source] = 0;
  given = spread(std::move(given), wires, wires.source, wires.target, reach);
  ends = spread(std::move(ends), wires, wires.target, wires.source, reach);
  Marks found(wires.nodes());
  for (Index node = 0; node < wires.nodes(); ++node) {
    const std::uint8_t properties = wires.properties[node];
    found[node] =
        (properties & kWeighted) && (given[node] || ends[node] || (properties & kEmbedding));
  }
  return found;
}

Skeleton skeleton(const Wiring& wires, const Salts& salts) {
  Skeleton bones;
  // The number of the node that stands for each node; sources come before their readers.
  Indices stands_for(wires.nodes());
  for (Index node = 0; node < wires.nodes(); ++node) {
    const bool gone = (wires.properties[node] & kExchanged) && wires.operands(node) == 1;
    if (gone) {
      stands_for[node] = stands_for[wires.source[wires.in_start[node]]];
      continue;
    }
    stands_for[node] = static_cast<Index>(bones.kept.size());
    bones.kept.push_back(node);
    bones.wires.op_ids.push_back(wires.op_ids[node]);
    bones.wires.properties.push_back(wires.properties[node]);
    for (Index edge = wires.in_start[node]; edge < wires.in_start[node + 1]; ++edge) {
      bones.wires.source.push_back(stands_for[wires.source[edge]]);
      bones.wires.target.push_back(stands_for[node]);
    }
  }
  find_places(bones.wires, salts);
  return bones;
}

}  // namespace nar
