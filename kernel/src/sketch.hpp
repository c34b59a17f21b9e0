// A random projection of feature sets (`nar.encoding.default.encoder.sketch`).
#pragma once

#include "arrays.hpp"

namespace nar {

// Sums of shape (graphs, dim), where `start` says where the features of each graph begin, and where
// the last ones end; `dim` is a multiple of 8.
std::vector<float> sketch(Run<Code> codes, Run<float> weights, Run<std::int64_t> start,
                          std::size_t dim, Code word);

}  // namespace nar
