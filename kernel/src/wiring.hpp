// Canonical graphs ready for the steps of Eq. 2 (`nar.motifs.neighbours`, `nar.motifs.borders`).
#pragma once

#include "arrays.hpp"

namespace nar {

// What the operators of the vocabulary are, one bit for each property.
enum Property : std::uint8_t {
  kCommutative = 1,  // its operands have no order
  kExchanged = 2,    // with one operand it is no part of a skeleton
  kWeighted = 4,     // a layer with weights
  kInput = 8,
  kEmbedding = 16,
};

// Salts and limits, which are defined in Python and given to every call.
struct Salts {
  Code slot, child, outside, position, pieces, attribute, before, after, level, aspect;
};

// A graph as the caller has it.
struct Graph {
  Run<std::uint16_t> op_ids;
  Run<Index> source, target;
};

struct Wiring {
  Indices op_ids, source, target;
  Marks properties;  // of each node
  Codes slot;        // of each edge: its place among the operands, salted; 0 where none has a place
  Indices in_start;  // where the edges into each node begin, and where the last ones end

  Index nodes() const { return static_cast<Index>(op_ids.size()); }
  Index edges() const { return static_cast<Index>(source.size()); }
  Index operands(Index node) const { return in_start[node + 1] - in_start[node]; }
  // The place of an edge among the operands of its target.
  Index place(Index edge) const { return edge - in_start[target[edge]]; }
};

// Throws std::invalid_argument unless every edge leads from a node to a later node, and edges are
// in the order of their targets: what every later step relies on.
Wiring wired(const Graph& graph, Run<std::uint8_t> properties, const Salts& salts);

Codes operator_codes(const Wiring& wires);

// Steps of Eq. 2; `inside` says which edges to follow, and is empty for all edges.
Codes refine(Codes codes, const Wiring& wires, int steps, const Salts& salts, const Marks& inside);

// Layers with weights that read an input or words, or after which no layer stands.
Marks at_border(const Wiring& wires, int reach);

// The graph without norms, activations and arithmetic with one operand.
struct Skeleton {
  Indices kept;  // numbers of the nodes that are left
  Wiring wires;
};

Skeleton skeleton(const Wiring& wires, const Salts& salts);

}  // namespace nar
