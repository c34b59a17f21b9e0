// Arrays that a caller owns, as plain runs, and the wrong arguments that are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace nar {

using Code = std::uint64_t;
using Codes = std::vector<Code>;
// A node, an edge or a number of these: a graph has fewer than 2^31, which `Graph` checks.
using Index = std::int32_t;
using Indices = std::vector<Index>;
using Marks = std::vector<std::uint8_t>;

// A run of items in memory of somebody else.
template <typename Item>
struct Run {
  const Item* items;
  std::size_t size;

  const Item& operator[](std::size_t place) const { return items[place]; }
  const Item* begin() const { return items; }
  const Item* end() const { return items + size; }
};

inline void require(bool holds, const char* wanted) {
  if (!holds) throw std::invalid_argument(wanted);
}

}  // namespace nar
