#include "features.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "hashing.hpp"

namespace nar {
namespace {

const Marks kAllEdges;

// The features that are found so far, aspect after aspect.
class Collected {
 public:
  explicit Collected(Code salt) : salt_(salt) {}

  // The codes of the next aspect, each once; their weights make a vector of length 1.
  void add(const Codes& codes) {
    const auto weight = static_cast<float>(1 / std::sqrt(static_cast<double>(codes.size())));
    for (const Code code : codes) found_.codes.push_back(salted(code, aspect_, salt_));
    found_.aspects.resize(found_.codes.size(), aspect_);
    found_.weights.resize(found_.codes.size(), weight);
    ++aspect_;
  }

  void leave_out(std::int64_t neighbours) { found_.cut += neighbours; }

  Features take() { return std::move(found_); }

 private:
  Code salt_;
  std::uint8_t aspect_ = 0;
  Features found_;
};

// Each code once, in the order in which they come.
template <typename Container>
Codes distinct(const Container& codes, std::size_t count) {
  Numbering numbering(count);
  Codes found;
  for (const Code code : codes)
    if (numbering.of(code).second) found.push_back(code);
  return found;
}

Codes with_attributes(Codes codes, Run<std::int16_t> attributes, std::size_t columns,
                      const FeatureRules& rules, const Marks& borders) {
  for (std::size_t node = 0; node < codes.size(); ++node)
    for (std::size_t column = 0; column < columns; ++column) {
      auto value = static_cast<std::int64_t>(attributes[node * columns + column]);
      const auto number = static_cast<int>(column);
      const bool is_width = number == rules.channel_ratio && !borders.empty() && borders[node];
      const bool is_heads = number == rules.heads && !borders.empty();
      if (is_width || is_heads) value = 0;
      codes[node] = salted(codes[node], static_cast<Code>(value), rules.salts.attribute);
    }
  return codes;
}

Codes of_kept(const Codes& codes, const Indices& kept) {
  Codes found;
  found.reserve(kept.size());
  for (const Index node : kept) found.push_back(codes[node]);
  return found;
}

// One code for all nodes, whatever their numbering.
Codes whole(const Codes& codes) {
  Code sum = 0;
  for (const Code code : codes) sum += mix(code);
  return {mix(sum)};
}

// Node codes mixed with the slots in which readers with ordered operands read the nodes.
Codes placed(const Codes& nodes, const Wiring& wires) {
  std::vector<std::pair<Index, Code>> read;
  for (Index edge = 0; edge < wires.edges(); ++edge) {
    const Index target = wires.target[edge];
    if (wires.operands(target) < 2 || (wires.properties[target] & kCommutative)) continue;
    const Code reader = mix(static_cast<Code>(wires.op_ids[target]));
    read.emplace_back(wires.source[edge], mix(reader + wires.slot[edge]));
  }
  std::sort(read.begin(), read.end());
  read.erase(std::unique(read.begin(), read.end()), read.end());
  Codes read_as(nodes.size(), 0);
  for (const auto& [source, seen] : read) read_as[source] += seen;
  Codes found(nodes.size());
  for (std::size_t node = 0; node < nodes.size(); ++node)
    found[node] = mix(nodes[node] + mix(read_as[node]));
  return found;
}

struct Counted {
  Code code;
  std::int64_t times;
};

// Different neighbours of each node on one side, ascending, and how often each occurs.
struct Neighbours {
  std::vector<Counted> found;
  std::vector<std::size_t> start;
  std::int64_t cut = 0;
};

Neighbours neighbours(const Indices& node, const Indices& other, const Codes& codes,
                      const FeatureRules& rules) {
  std::vector<std::size_t> start(codes.size() + 1, 0);
  for (const Index each : node) ++start[each + 1];
  for (std::size_t each = 0; each < codes.size(); ++each) start[each + 1] += start[each];
  Codes keys(node.size());
  std::vector<std::size_t> next(start.begin(), start.end() - 1);
  for (std::size_t edge = 0; edge < node.size(); ++edge)
    keys[next[node[edge]]++] = codes[other[edge]] >> (64 - rules.code_bits);
  Neighbours around;
  around.start.reserve(start.size());
  for (std::size_t each = 0; each < codes.size(); ++each) {
    around.start.push_back(around.found.size());
    std::sort(keys.begin() + start[each], keys.begin() + start[each + 1]);
    int kinds = 0;
    for (std::size_t place = start[each]; place < start[each + 1]; ++place) {
      const bool is_new = place == start[each] || keys[place] != keys[place - 1];
      kinds += is_new;
      if (kinds > rules.max_neighbours)
        around.cut += is_new;
      else if (is_new)
        around.found.push_back({keys[place], 1});
      else
        ++around.found.back().times;
    }
  }
  around.start.push_back(around.found.size());
  return around;
}

// A code for every path of two edges, and another code each time its number doubles.
Codes paths(const Codes& codes, const Wiring& wires, const FeatureRules& rules, Collected& log) {
  const Codes nodes = placed(codes, wires);
  const Neighbours before = neighbours(wires.target, wires.source, nodes, rules);
  const Neighbours after = neighbours(wires.source, wires.target, nodes, rules);
  log.leave_out(before.cut + after.cut);
  std::vector<Counted> walked;
  for (std::size_t middle = 0; middle < nodes.size(); ++middle)
    for (std::size_t first = before.start[middle]; first < before.start[middle + 1]; ++first) {
      const Counted& from = before.found[first];
      const Code begins = mix(from.code * rules.salts.before);
      for (std::size_t last = after.start[middle]; last < after.start[middle + 1]; ++last) {
        const Counted& to = after.found[last];
        const Code ends = begins + to.code * rules.salts.after;
        walked.push_back({mix(ends + nodes[middle]), from.times * to.times});
      }
    }
  Numbering numbering(walked.size());
  std::vector<Counted> kinds;
  for (const Counted& path : walked) {
    const auto [number, is_new] = numbering.of(path.code);
    if (is_new)
      kinds.push_back(path);
    else
      kinds[number].times += path.times;
  }
  std::sort(kinds.begin(), kinds.end(),
            [](const Counted& one, const Counted& other) { return one.code < other.code; });
  Codes found;
  for (const Counted& path : kinds) {
    int level = 0;
    for (std::int64_t times = path.times; times > 1 && level < rules.max_level; times >>= 1)
      ++level;
    for (int rank = 0; rank <= level; ++rank)
      found.push_back(salted(path.code, static_cast<Code>(rank), rules.salts.level));
  }
  return found;
}

}  // namespace

Features features(const Graph& graph, Run<std::int16_t> attributes, std::size_t columns,
                  Run<Code> motifs, Run<std::uint8_t> properties, const FeatureRules& rules) {
  require(attributes.size == columns * graph.op_ids.size, "wanted attributes of every node");
  require(rules.code_bits > 0 && rules.code_bits < 64, "wanted from 1 to 63 bits of a code");
  const Salts& salts = rules.salts;
  const Wiring wires = wired(graph, properties, salts);
  const Codes operators = operator_codes(wires);
  const Codes borderless =
      with_attributes(operators, attributes, columns, rules, at_border(wires, rules.reach));
  const Codes attributed = rules.border_widths
                               ? with_attributes(operators, attributes, columns, rules, {})
                               : borderless;
  const Codes near = refine(operators, wires, 1, salts, kAllEdges);
  const auto [kept, bones] = skeleton(wires, salts);
  const Codes near_bones = refine(of_kept(operators, kept), bones, 1, salts, kAllEdges);

  // In the order of `nar.motifs.feature_sets.ASPECT_KINDS`.
  Collected found(salts.aspect);
  found.add(distinct(operators, operators.size()));
  found.add(distinct(near, near.size()));
  found.add(distinct(attributed, attributed.size()));
  found.add(distinct(motifs, motifs.size));
  found.add(paths(attributed, wires, rules, found));
  found.add(distinct(near_bones, near_bones.size()));
  found.add(paths(of_kept(attributed, kept), bones, rules, found));
  found.add(whole(refine(near, wires, rules.whole_steps - 1, salts, kAllEdges)));
  found.add(whole(
      refine(of_kept(borderless, kept), bones, rules.whole_steps, salts, kAllEdges)));
  return found.take();
}

}  // namespace nar
