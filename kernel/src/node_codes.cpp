#include "node_codes.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

namespace nar {
namespace {

// Runs of items, one for each node.
struct Lists {
  std::vector<std::size_t> start;
  Indices items;

  const Index* begin(Index node) const { return items.data() + start[node]; }
  const Index* end(Index node) const { return items.data() + start[node + 1]; }
  std::size_t size(Index node) const { return start[node + 1] - start[node]; }
};

// Numbers of the edges of each node at one side, in the order of the edges.
Lists edges_of(Run<Index> side, std::size_t nodes) {
  Lists lists{std::vector<std::size_t>(nodes + 1, 0), Indices(side.size)};
  for (const Index node : side) ++lists.start[node + 1];
  std::partial_sum(lists.start.begin(), lists.start.end(), lists.start.begin());
  std::vector<std::size_t> next(lists.start.begin(), lists.start.end() - 1);
  for (std::size_t edge = 0; edge < side.size; ++edge)
    lists.items[next[side[edge]]++] = static_cast<Index>(edge);
  return lists;
}

struct Adjacency {
  Edges edges;
  Index nodes;
  Lists into, out;
  Indices order;  // nodes, each after its operands

  bool is_commutative(Index node) const { return edges.commutative[node] != 0; }
};

void check(const Edges& edges) {
  const std::size_t nodes = edges.commutative.size;
  constexpr std::size_t most = std::numeric_limits<Index>::max();
  require(nodes < most && edges.source.size < most, "wanted fewer nodes and edges");
  for (std::size_t edge = 0; edge < edges.source.size; ++edge)
    for (const Index end : {edges.source[edge], edges.target[edge]})
      require(end >= 0 && static_cast<std::size_t>(end) < nodes,
              "wanted edges between nodes of the graph");
}

Adjacency adjacency(const Edges& edges) {
  check(edges);
  const std::size_t nodes = edges.commutative.size;
  Adjacency graph{edges, static_cast<Index>(nodes), edges_of(edges.target, nodes),
                  edges_of(edges.source, nodes), {}};
  std::vector<std::size_t> waiting(nodes);
  for (Index node = 0; node < graph.nodes; ++node) {
    waiting[node] = graph.into.size(node);
    if (!waiting[node]) graph.order.push_back(node);
  }
  for (std::size_t done = 0; done < graph.order.size(); ++done) {
    const Index node = graph.order[done];
    for (const Index* edge = graph.out.begin(node); edge != graph.out.end(node); ++edge) {
      const Index reader = edges.target[*edge];
      if (!--waiting[reader]) graph.order.push_back(reader);
    }
  }
  require(graph.order.size() == nodes, "wanted a graph without cycles");
  return graph;
}

void check(const Rows& rows, const Adjacency& graph) {
  require(rows.bytes.size == rows.width * static_cast<std::size_t>(graph.nodes),
          "wanted bytes of every node");
}

// A reader of a node: its code and the slot in which it reads the node, as little-endian bytes.
using Reader = std::array<std::uint8_t, sizeof(Digest) + 4>;

Reader reader(const Adjacency& graph, Index edge, const std::vector<Digest>& whole,
              const std::vector<std::uint32_t>& slots) {
  Reader read;
  const Digest& code = whole[graph.edges.target[edge]];
  std::copy(code.begin(), code.end(), read.begin());
  for (int byte = 0; byte < 4; ++byte)
    read[sizeof(Digest) + byte] = static_cast<std::uint8_t>(slots[edge] >> (8 * byte));
  return read;
}

template <typename Item>
void append(std::vector<std::uint8_t>& content, const Item& item) {
  content.insert(content.end(), item.begin(), item.end());
}

std::vector<Digest> past_codes(const Adjacency& graph, const Rows& initial) {
  std::vector<Digest> past(graph.nodes);
  std::vector<std::uint8_t> content;
  std::vector<Digest> read;
  for (const Index node : graph.order) {
    const std::uint8_t* own = initial.bytes.items + node * initial.width;
    content.assign(own, own + initial.width);
    read.clear();
    for (const Index* edge = graph.into.begin(node); edge != graph.into.end(node); ++edge)
      read.push_back(past[graph.edges.source[*edge]]);
    if (graph.is_commutative(node)) std::sort(read.begin(), read.end());
    for (const Digest& code : read) append(content, code);
    past[node] = blake2b_128(content);
  }
  return past;
}

// Slot of each edge among the operands of its target; 0 where operands have no order.
std::vector<std::uint32_t> slots_of_edges(const Adjacency& graph) {
  std::vector<std::uint32_t> slots(graph.edges.target.size, 0);
  for (Index node = 0; node < graph.nodes; ++node) {
    if (graph.is_commutative(node)) continue;
    std::uint32_t slot = 0;
    for (const Index* edge = graph.into.begin(node); edge != graph.into.end(node); ++edge)
      slots[*edge] = slot++;
  }
  return slots;
}

Indices depths(const Adjacency& graph) {
  Indices depth(graph.nodes, 0);
  for (const Index node : graph.order)
    for (const Index* edge = graph.into.begin(node); edge != graph.into.end(node); ++edge)
      depth[node] = std::max(depth[node], depth[graph.edges.source[*edge]] + 1);
  return depth;
}

// Sorts nodes by depth, the deepest first, and by code; finds nodes that are equal in both.
class Ranking {
 public:
  Ranking(const Adjacency& graph, const Rows& codes) : depth_(depths(graph)), codes_(codes) {}

  void by_depth(Index* begin, Index* end) const {
    std::stable_sort(begin, end,
                     [this](Index one, Index other) { return depth_[one] > depth_[other]; });
  }

  // Returns whether any two are tied.
  bool by_depth_and_code(Index* begin, Index* end) const {
    std::stable_sort(begin, end, [this](Index one, Index other) { return order(one, other) < 0; });
    return std::adjacent_find(begin, end, [this](Index one, Index other) {
             return order(one, other) == 0;
           }) != end;
  }

 private:
  int order(Index one, Index other) const {
    if (depth_[one] != depth_[other]) return depth_[one] > depth_[other] ? -1 : 1;
    return std::memcmp(codes_.bytes.items + one * codes_.width,
                       codes_.bytes.items + other * codes_.width, codes_.width);
  }

  Indices depth_;
  Rows codes_;
};

// The operands of each node, in the order in which they are visited; whether any are tied.
std::pair<Lists, bool> visits(const Adjacency& graph, const Ranking& ranking) {
  Lists operands = graph.into;
  bool is_tied = false;
  for (Index& item : operands.items) item = graph.edges.source[item];
  for (Index node = 0; node < graph.nodes; ++node) {
    Index* const begin = operands.items.data() + operands.start[node];
    Index* const end = operands.items.data() + operands.start[node + 1];
    if (graph.is_commutative(node))
      is_tied |= ranking.by_depth_and_code(begin, end);
    else
      ranking.by_depth(begin, end);
  }
  return {std::move(operands), is_tied};
}

std::vector<std::int64_t> post_order(const Lists& operands, const Indices& roots, Index nodes) {
  std::vector<std::int64_t> order;
  order.reserve(nodes);
  Marks seen(nodes, 0);
  std::vector<std::size_t> next(operands.start.begin(), operands.start.end() - 1);
  Indices stack;
  for (const Index root : roots) {
    stack.push_back(root);
    seen[root] = 1;
    while (!stack.empty()) {
      const Index node = stack.back();
      while (next[node] < operands.start[node + 1] && seen[operands.items[next[node]]])
        ++next[node];
      if (next[node] < operands.start[node + 1]) {
        const Index child = operands.items[next[node]++];
        seen[child] = 1;
        stack.push_back(child);
      } else {
        order.push_back(node);
        stack.pop_back();
      }
    }
  }
  return order;
}

}  // namespace

std::vector<Digest> node_codes(const Edges& edges, const Rows& initial) {
  const Adjacency graph = adjacency(edges);
  check(initial, graph);
  const std::vector<Digest> past = past_codes(graph, initial);
  const std::vector<std::uint32_t> slots = slots_of_edges(graph);
  std::vector<Digest> whole(graph.nodes);
  std::vector<std::uint8_t> content;
  std::vector<Reader> future;
  for (auto node = graph.order.rbegin(); node != graph.order.rend(); ++node) {
    future.clear();
    for (const Index* edge = graph.out.begin(*node); edge != graph.out.end(*node); ++edge)
      future.push_back(reader(graph, *edge, whole, slots));
    std::sort(future.begin(), future.end());
    content.assign(past[*node].begin(), past[*node].end());
    for (const Reader& each : future) append(content, each);
    whole[*node] = blake2b_128(content);
  }
  return whole;
}

Order canonical_order(const Edges& edges, const Rows& codes) {
  const Adjacency graph = adjacency(edges);
  check(codes, graph);
  const Ranking ranking(graph, codes);
  auto [operands, is_tied] = visits(graph, ranking);
  Indices roots;
  for (Index node = 0; node < graph.nodes; ++node)
    if (!graph.out.size(node)) roots.push_back(node);
  is_tied |= ranking.by_depth_and_code(roots.data(), roots.data() + roots.size());
  return {post_order(operands, roots, graph.nodes), is_tied};
}

}  // namespace nar
