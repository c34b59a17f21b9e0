#include "cut.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "hashing.hpp"

namespace nar {
namespace {

// Values that cross the border before each node, and whether the node before is read repeatedly.
struct Flow {
  Indices live;
  Marks is_fork;
};

Flow flow(const Wiring& wires) {
  const Index nodes = wires.nodes();
  Indices last_read(nodes), readers(nodes, 0), ends(nodes + 1, 0);
  std::iota(last_read.begin(), last_read.end(), 0);
  for (Index edge = 0; edge < wires.edges(); ++edge) {
    last_read[wires.source[edge]] = wires.target[edge];  // edges ascend by target
    ++readers[wires.source[edge]];
  }
  for (const Index last : last_read) ++ends[last + 1];
  Flow borders{Indices(nodes), Marks(nodes, 0)};
  for (Index node = 1; node < nodes; ++node) {
    borders.live[node] = borders.live[node - 1] + 1 - ends[node];
    borders.is_fork[node] = readers[node - 1] > 1;
  }
  return borders;
}

// Groups of nodes with the rank of each node inside its group.
struct Groups {
  Indices of_node, rank;
  Index count;
};

Groups pieces(const Indices& starts, Index nodes) {
  Groups groups{Indices(nodes), Indices(nodes), static_cast<Index>(starts.size())};
  for (Index piece = 0; piece < groups.count; ++piece) {
    const Index end = piece + 1 < groups.count ? starts[piece + 1] : nodes;
    for (Index node = starts[piece]; node < end; ++node) {
      groups.of_node[node] = piece;
      groups.rank[node] = node - starts[piece];
    }
  }
  return groups;
}

// Adds which operands come from outside: from the nearest outside value or another.
void add_outside_reads(Codes& codes, const Wiring& wires, const Groups& groups,
                       const Marks& inside, const CutRules& rules) {
  Indices nearest(groups.count, -1);
  for (Index edge = 0; edge < wires.edges(); ++edge) {
    if (inside[edge]) continue;
    Index& of_group = nearest[groups.of_node[wires.target[edge]]];
    of_group = std::max(of_group, wires.source[edge]);
  }
  Codes flags(codes.size(), 0);
  for (Index edge = 0; edge < wires.edges(); ++edge) {
    if (inside[edge]) continue;
    const Index target = wires.target[edge];
    const int place = wires.slot[edge] ? std::min<int>(wires.place(edge), rules.max_slot) : 0;
    const bool farther = wires.source[edge] < nearest[groups.of_node[target]];
    flags[target] |= Code{1} << (place + (farther ? rules.max_slot + 1 : 0));
  }
  for (std::size_t node = 0; node < codes.size(); ++node)
    codes[node] += flags[node] * rules.salts.outside;
}

// Code of each group from its operators and inner wiring.
Codes group_codes(const Wiring& wires, const Groups& groups, const CutRules& rules) {
  Marks inside(wires.edges());
  for (Index edge = 0; edge < wires.edges(); ++edge)
    inside[edge] = groups.of_node[wires.source[edge]] == groups.of_node[wires.target[edge]];
  Codes of_node = operator_codes(wires);
  add_outside_reads(of_node, wires, groups, inside, rules);
  of_node = refine(std::move(of_node), wires, rules.steps, rules.salts, inside);
  Codes codes(groups.count, 0);
  for (Index node = 0; node < wires.nodes(); ++node)
    codes[groups.of_node[node]] +=
        salted(of_node[node], static_cast<Code>(groups.rank[node]), rules.salts.position);
  for (Code& code : codes) code = mix(code);
  return codes;
}

Codes piece_codes(const Wiring& wires, const Indices& starts, const CutRules& rules) {
  return group_codes(wires, pieces(starts, wires.nodes()), rules);
}

// Which codes occur at least twice.
Marks repeated(const Codes& codes) {
  Numbering numbering(codes.size());
  Indices number, count;
  number.reserve(codes.size());
  for (const Code code : codes) {
    const auto [of_code, is_new] = numbering.of(code);
    if (is_new) count.push_back(0);
    ++count[of_code];
    number.push_back(of_code);
  }
  Marks found;
  found.reserve(codes.size());
  for (const Index of_code : number) found.push_back(count[of_code] > 1);
  return found;
}

// Where the open pieces are cut further: by the narrowest borders, behind forks, or everywhere.
enum class CutRule { kNarrowest, kForks, kEverywhere };

void add_cuts(CutRule rule, const Flow& borders, Index begin, Index end, Indices& starts) {
  Index narrowest = std::numeric_limits<Index>::max();
  for (Index node = begin + 1; node < end; ++node)
    narrowest = std::min(narrowest, borders.live[node]);
  for (Index node = begin + 1; node < end; ++node)
    if (rule == CutRule::kEverywhere || (rule == CutRule::kForks && borders.is_fork[node]) ||
        (rule == CutRule::kNarrowest && borders.live[node] == narrowest))
      starts.push_back(node);
}

struct Pieces {
  Indices starts;
  Codes codes;
};

// Cut until every piece is repeated or is a single node.
Pieces cut_pieces(const Wiring& wires, const Flow& borders, const CutRules& rules) {
  // As `nar.motifs.pieces.CUT_RULES`.
  constexpr CutRule order[] = {CutRule::kNarrowest, CutRule::kNarrowest, CutRule::kForks,
                               CutRule::kEverywhere};
  Pieces cut{{0}, {}};
  Marks is_repeated{0};
  for (const CutRule rule : order) {
    Indices starts;
    for (std::size_t piece = 0; piece < cut.starts.size(); ++piece) {
      const bool is_last = piece + 1 == cut.starts.size();
      const Index end = is_last ? wires.nodes() : cut.starts[piece + 1];
      starts.push_back(cut.starts[piece]);
      if (!is_repeated[piece]) add_cuts(rule, borders, cut.starts[piece], end, starts);
    }
    if (starts.size() == cut.starts.size()) continue;
    cut.starts = std::move(starts);
    cut.codes = piece_codes(wires, cut.starts, rules);
    is_repeated = repeated(cut.codes);
  }
  if (cut.codes.empty()) cut.codes = piece_codes(wires, cut.starts, rules);
  return cut;
}

struct Blocks {
  Indices starts;
  Codes hashes, powers;  // of the run of pieces: its polynomial hash, and the power of the base

  std::size_t count() const { return starts.size(); }
};

// How often each pair of neighbours occurs, if the right always follows the left; 0 for the others.
Indices pairs(const Blocks& blocks, const Marks& is_fork, bool forks_too) {
  Numbering kinds(blocks.count()), both(blocks.count());
  Indices kind, count, pair, times;
  for (const Code hash : blocks.hashes) {
    const auto [number, is_new] = kinds.of(hash);
    if (is_new) count.push_back(0);
    ++count[number];
    kind.push_back(number);
  }
  Marks stacked(count.size(), 0);
  for (std::size_t left = 0; left + 1 < blocks.count(); ++left) {
    if (kind[left] == kind[left + 1]) stacked[kind[left]] = 1;
    const Code key = (static_cast<Code>(kind[left]) << 32) | static_cast<Code>(kind[left + 1]);
    const auto [number, is_new] = both.of(key);
    if (is_new) times.push_back(0);
    ++times[number];
    pair.push_back(number);
  }
  Indices found(pair.size(), 0);
  for (std::size_t left = 0; left < pair.size(); ++left) {
    const Index often = times[pair[left]];
    const bool allowed = forks_too || !is_fork[blocks.starts[left + 1]];
    if (allowed && kind[left] != kind[left + 1] && often > 1 && often == count[kind[left]] &&
        !stacked[kind[left + 1]])
      found[left] = often;
  }
  return found;
}

// Join the most frequent pairs, every other pair of a run; whether any was joined.
bool join(Blocks& blocks, const Indices& times) {
  const Index highest = times.empty() ? 0 : *std::max_element(times.begin(), times.end());
  if (highest == 0) return false;
  std::size_t kept = 0;
  for (std::size_t left = 0; left < blocks.count(); ++left, ++kept) {
    blocks.starts[kept] = blocks.starts[left];
    blocks.hashes[kept] = blocks.hashes[left];
    blocks.powers[kept] = blocks.powers[left];
    if (left < times.size() && times[left] == highest) {
      ++left;  // from the left: what was just joined joins nothing else in this round
      blocks.hashes[kept] = blocks.hashes[kept] * blocks.powers[left] + blocks.hashes[left];
      blocks.powers[kept] *= blocks.powers[left];
    }
  }
  blocks.starts.resize(kept);
  blocks.hashes.resize(kept);
  blocks.powers.resize(kept);
  return true;
}

// Join neighbouring pieces until no two are always together; first nodes of the blocks.
Indices grow(Pieces cut, const Flow& borders, const CutRules& rules) {
  Codes powers(cut.codes.size(), rules.salts.pieces);
  Blocks blocks{std::move(cut.starts), std::move(cut.codes), std::move(powers)};
  for (const bool forks_too : {false, true})
    for (int round = 0; round < rules.max_rounds; ++round)
      if (!join(blocks, pairs(blocks, borders.is_fork, forks_too))) break;
  return blocks.starts;
}

// The first node of the component of each node, as links are added.
class Components {
 public:
  explicit Components(Index nodes) : above_(nodes) {
    std::iota(above_.begin(), above_.end(), 0);
  }

  Index of(Index node) {
    while (above_[node] != node) node = above_[node] = above_[above_[node]];
    return node;
  }

  void link(Index one, Index other) {
    one = of(one);
    other = of(other);
    above_[std::max(one, other)] = std::min(one, other);
  }

 private:
  Indices above_;
};

// Groups: blocks that repeat, and connected parts of bounded size of what is left.
Groups with_remainders(const Wiring& wires, const Indices& starts, const CutRules& rules) {
  const Index nodes = wires.nodes();
  const Marks is_repeated = repeated(piece_codes(wires, starts, rules));
  const Groups blocks = pieces(starts, nodes);
  Indices size(blocks.count, 0), chunk(nodes, -1);
  for (const Index block : blocks.of_node) ++size[block];
  Index begin = 0, chunks = -1;
  for (Index node = 0; node < nodes; ++node) {
    const Index block = blocks.of_node[node];
    if (is_repeated[block] && size[block] > 1) continue;  // the node is in a block
    if (node == 0 || chunk[node - 1] < 0) begin = node;
    if ((node - begin) % rules.max_remainder == 0) ++chunks;
    chunk[node] = chunks;
  }
  Components components(nodes);
  for (Index edge = 0; edge < wires.edges(); ++edge) {
    const Index source = wires.source[edge], target = wires.target[edge];
    if (chunk[source] >= 0 && chunk[source] == chunk[target]) components.link(source, target);
  }
  // Groups are numbered by their first node, which nodes of a block and of a component share.
  Groups groups{Indices(nodes), Indices(nodes), 0};
  Indices number(nodes, -1), filled;
  for (Index node = 0; node < nodes; ++node) {
    const Index first = chunk[node] < 0 ? starts[blocks.of_node[node]] : components.of(node);
    if (number[first] < 0) {
      number[first] = groups.count++;
      filled.push_back(0);
    }
    groups.of_node[node] = number[first];
    groups.rank[node] = filled[number[first]]++;
  }
  return groups;
}

}  // namespace

Motifs cut(const Graph& graph, Run<std::uint8_t> properties, const CutRules& rules) {
  require(rules.steps >= 0 && rules.max_remainder > 0 && rules.max_rounds >= 0,
          "wanted settings of motifs that are not negative");
  // A flag for each slot, near or far, is one bit of a code.
  require(rules.max_slot >= 0 && rules.max_slot < 31, "wanted a largest slot from 0 to 30");
  const Wiring wires = wired(graph, properties, rules.salts);
  const Flow borders = flow(wires);
  const Indices starts = grow(cut_pieces(wires, borders, rules), borders, rules);
  Groups groups = with_remainders(wires, starts, rules);
  Codes codes = group_codes(wires, groups, rules);
  return {std::move(groups.of_node), std::move(codes)};
}

}  // namespace nar
