// Codes of nodes and the canonical order, in any numbering of nodes (`nar.graphs.canonical`).
#pragma once

#include "arrays.hpp"
#include "blake2b.hpp"

namespace nar {

// The edges of a graph in any numbering; operands of a node are in the order of its edges.
struct Edges {
  Run<Index> source, target;
  Run<std::uint8_t> commutative;  // of each node, whether its operands have no order
};

// Some bytes of each node, `width` of them.
struct Rows {
  Run<std::uint8_t> bytes;
  std::size_t width;
};

// Code of each node from its whole past, then from its whole future.
std::vector<Digest> node_codes(const Edges& edges, const Rows& initial);

struct Order {
  std::vector<std::int64_t> nodes;
  bool is_tied;  // nodes that need an order are equal in depth and code
};

// The depth-first post-order from the outputs that descends into the deepest operand first.
Order canonical_order(const Edges& edges, const Rows& codes);

}  // namespace nar
