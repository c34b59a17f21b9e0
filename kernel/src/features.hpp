// The features of a canonical graph and of its motifs (`nar.motifs.feature_sets`).
#pragma once

#include "wiring.hpp"

namespace nar {

struct FeatureRules {
  Salts salts;
  bool border_widths;
  int channel_ratio, heads;  // columns of the attributes
  int reach, whole_steps, max_neighbours, max_level, code_bits;
};

struct Features {
  Codes codes;
  std::vector<std::uint8_t> aspects;
  std::vector<float> weights;
  std::int64_t cut = 0;  // neighbours of hubs that paths leave out
};

// `attributes` holds `columns` numbers for each node.
Features features(const Graph& graph, Run<std::int16_t> attributes, std::size_t columns,
                  Run<Code> motifs, Run<std::uint8_t> properties, const FeatureRules& rules);

}  // namespace nar
