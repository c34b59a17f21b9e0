#include "sketch.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "hashing.hpp"

namespace nar {
namespace {

constexpr std::size_t kWordBits = 64, kByteBits = 8;

using Signs = std::array<std::array<float, kByteBits>, 256>;

// The signs that each byte stands for, its highest bit first.
Signs signs_of_bytes() {
  Signs signs{};
  for (std::size_t byte = 0; byte < signs.size(); ++byte)
    for (std::size_t bit = 0; bit < kByteBits; ++bit)
      signs[byte][bit] = (byte >> (kByteBits - 1 - bit)) & 1 ? 1.0f : -1.0f;
  return signs;
}

struct Weighted {
  Code code;
  float weight;
};

// The features of a graph that have a weight, ascending; equal codes are one feature.
std::vector<Weighted> in_order(Run<Code> codes, Run<float> weights, std::size_t first,
                               std::size_t end) {
  std::vector<Weighted> kept;
  kept.reserve(end - first);
  for (std::size_t place = first; place < end; ++place)
    if (weights[place] != 0) kept.push_back({codes[place], weights[place]});
  std::stable_sort(kept.begin(), kept.end(), [](const Weighted& one, const Weighted& other) {
    return one.code < other.code;
  });
  std::size_t count = 0;
  for (const Weighted& each : kept) {
    if (count && kept[count - 1].code == each.code)
      kept[count - 1].weight += each.weight;
    else
      kept[count++] = each;
  }
  kept.resize(count);
  return kept;
}

void check(Run<Code> codes, Run<float> weights, Run<std::int64_t> start, std::size_t dim) {
  require(dim % kByteBits == 0, "wanted a dim that is a multiple of 8");
  require(weights.size == codes.size, "wanted a weight for each code");
  require(start.size > 0 && start[0] >= 0, "wanted where the features of each graph begin");
  for (std::size_t graph = 1; graph < start.size; ++graph)
    require(start[graph] >= start[graph - 1], "wanted graphs one after the other");
  require(static_cast<std::size_t>(start[start.size - 1]) <= codes.size,
          "wanted features inside of the array");
}

}  // namespace

std::vector<float> sketch(Run<Code> codes, Run<float> weights, Run<std::int64_t> start,
                          std::size_t dim, Code word) {
  static const Signs signs = signs_of_bytes();
  check(codes, weights, start, dim);
  const std::size_t graphs = start.size - 1;
  std::vector<float> sums(graphs * dim, 0.0f);
  if (dim == 0) return sums;
  const float unit = 1.0f / static_cast<float>(std::sqrt(static_cast<double>(dim)));
  for (std::size_t graph = 0; graph < graphs; ++graph) {
    float* const of_graph = sums.data() + graph * dim;
    const auto first = static_cast<std::size_t>(start[graph]);
    const auto end = static_cast<std::size_t>(start[graph + 1]);
    for (const auto& [code, weight] : in_order(codes, weights, first, end)) {
      const float step = weight * unit;
      for (std::size_t place = 0; place < dim; place += kWordBits) {
        Code bits = salted(code, place / kWordBits, word);
        const std::size_t last = std::min(place + kWordBits, dim);
        for (std::size_t at = place; at < last; at += kByteBits, bits >>= kByteBits) {
          const auto& of_byte = signs[bits & 0xFF];
          for (std::size_t bit = 0; bit < kByteBits; ++bit)
            of_graph[at + bit] += step * of_byte[bit];  // the product is exact: a sign
        }
      }
    }
  }
  return sums;
}

}  // namespace nar
