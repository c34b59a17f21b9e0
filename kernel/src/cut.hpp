// The motifs of a canonical graph (`nar.motifs.pieces`, `nar.motifs.partition`).
#pragma once

#include "wiring.hpp"

namespace nar {

struct CutRules {
  Salts salts;
  int steps, max_remainder, max_slot, max_rounds;
};

struct Motifs {
  Indices of_node;  // motif of each node; motifs are numbered by their first node
  Codes codes;
};

Motifs cut(const Graph& graph, Run<std::uint8_t> properties, const CutRules& rules);

}  // namespace nar
