// What Python calls: pure functions on arrays. Python's lock is released while they compute.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "cut.hpp"
#include "features.hpp"
#include "node_codes.hpp"
#include "sketch.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <typename Item, typename Shape>
using Given = nb::ndarray<const Item, Shape, nb::c_contig, nb::device::cpu>;
template <typename Item>
using Line = Given<Item, nb::ndim<1>>;
template <typename Item>
using Table = Given<Item, nb::ndim<2>>;
using EdgeIndex = Given<nar::Index, nb::shape<2, -1>>;
template <typename Item>
using Made = nb::ndarray<nb::numpy, Item>;

template <typename Item, typename Shape>
nar::Run<Item> run(const Given<Item, Shape>& array) {
  return {array.data(), array.size()};
}

nar::Run<nar::Index> side(const EdgeIndex& edges, std::size_t row) {
  return {edges.data() + row * edges.shape(1), edges.shape(1)};
}

// An array that owns the items.
template <typename Item>
Made<Item> made(std::vector<Item>&& items) {
  auto* kept = new std::vector<Item>(std::move(items));
  nb::capsule owner(kept, [](void* each) noexcept { delete static_cast<decltype(kept)>(each); });
  return Made<Item>(kept->data(), {kept->size()}, owner);
}

Made<float> made(std::vector<float>&& items, std::size_t rows, std::size_t columns) {
  auto* kept = new std::vector<float>(std::move(items));
  nb::capsule owner(kept, [](void* each) noexcept { delete static_cast<decltype(kept)>(each); });
  return Made<float>(kept->data(), {rows, columns}, owner);
}

template <typename Compute>
auto unlocked(Compute&& compute) {
  nb::gil_scoped_release release;
  return compute();
}

nar::Graph graph(const Line<std::uint16_t>& op_ids, const EdgeIndex& edges) {
  return {run(op_ids), side(edges, 0), side(edges, 1)};
}

auto cut(const Line<std::uint16_t>& op_ids, const EdgeIndex& edges,
         const Line<std::uint8_t>& properties, const nar::CutRules& rules) {
  auto motifs =
      unlocked([&] { return nar::cut(graph(op_ids, edges), run(properties), rules); });
  return std::make_pair(made(std::move(motifs.of_node)), made(std::move(motifs.codes)));
}

auto features(const Line<std::uint16_t>& op_ids, const Table<std::int16_t>& attributes,
              const EdgeIndex& edges, const Line<nar::Code>& motifs,
              const Line<std::uint8_t>& properties, const nar::FeatureRules& rules) {
  auto found = unlocked([&] {
    return nar::features(graph(op_ids, edges), run(attributes), attributes.shape(1), run(motifs),
                         run(properties), rules);
  });
  return std::make_tuple(made(std::move(found.codes)), made(std::move(found.aspects)),
                         made(std::move(found.weights)), found.cut);
}

auto sketch(const Line<nar::Code>& codes, const Line<float>& weights,
            const Line<std::int64_t>& start, std::size_t dim, nar::Code word) {
  auto sums =
      unlocked([&] { return nar::sketch(run(codes), run(weights), run(start), dim, word); });
  return made(std::move(sums), start.size() - 1, dim);
}

nar::Edges edges_of(const EdgeIndex& edges, const Line<std::uint8_t>& commutative) {
  return {side(edges, 0), side(edges, 1), run(commutative)};
}

nar::Rows rows(const Table<std::uint8_t>& bytes) { return {run(bytes), bytes.shape(1)}; }

nb::bytes node_codes(const EdgeIndex& edges, const Line<std::uint8_t>& commutative,
                     const Table<std::uint8_t>& initial) {
  const auto codes =
      unlocked([&] { return nar::node_codes(edges_of(edges, commutative), rows(initial)); });
  return nb::bytes(codes.data(), codes.size() * sizeof(nar::Digest));
}

auto canonical_order(const EdgeIndex& edges, const Line<std::uint8_t>& commutative,
                     const Table<std::uint8_t>& codes) {
  auto order =
      unlocked([&] { return nar::canonical_order(edges_of(edges, commutative), rows(codes)); });
  return std::make_pair(made(std::move(order.nodes)), order.is_tied);
}

}  // namespace

NB_MODULE(nar_kernel, m) {
  // Rules are kept until the interpreter ends, which is no leak.
  nb::set_leak_warnings(false);
  m.doc() = "The hot paths of NAR, compiled; `nar.graphs.kernel` says what each function does.";

  // Raised with every change of what a function takes or gives, together with CONTRACT there.
  m.attr("CONTRACT") = 1;

  nb::class_<nar::Salts>(m, "Salts")
      .def(
          "__init__",
          [](nar::Salts* self, nar::Code slot, nar::Code child, nar::Code outside,
             nar::Code position, nar::Code pieces, nar::Code attribute, nar::Code before,
             nar::Code after, nar::Code level, nar::Code aspect) {
            new (self) nar::Salts{slot,      child,  outside, position, pieces,
                                  attribute, before, after,   level,    aspect};
          },
          nb::kw_only(), "slot"_a, "child"_a, "outside"_a, "position"_a, "pieces"_a,
          "attribute"_a, "before"_a, "after"_a, "level"_a, "aspect"_a);
  nb::class_<nar::CutRules>(m, "CutRules")
      .def(
          "__init__",
          [](nar::CutRules* self, const nar::Salts& salts, int steps, int max_remainder,
             int max_slot, int max_rounds) {
            new (self) nar::CutRules{salts, steps, max_remainder, max_slot, max_rounds};
          },
          nb::kw_only(), "salts"_a, "steps"_a, "max_remainder"_a, "max_slot"_a, "max_rounds"_a);
  nb::class_<nar::FeatureRules>(m, "FeatureRules")
      .def(
          "__init__",
          [](nar::FeatureRules* self, const nar::Salts& salts, bool border_widths,
             int channel_ratio, int heads, int reach, int whole_steps, int max_neighbours,
             int max_level, int code_bits) {
            new (self) nar::FeatureRules{salts, border_widths, channel_ratio,  heads,    reach,
                                         whole_steps, max_neighbours, max_level, code_bits};
          },
          nb::kw_only(), "salts"_a, "border_widths"_a, "channel_ratio"_a, "heads"_a, "reach"_a,
          "whole_steps"_a, "max_neighbours"_a, "max_level"_a, "code_bits"_a);

  // Arrays of other types are refused: a conversion would take time and hide a mistake.
  const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
  m.def("cut", &cut, array("op_ids"), array("edge_index"), array("properties"), "rules"_a);
  m.def("features", &features, array("op_ids"), array("attributes"), array("edge_index"),
        array("motifs"), array("properties"), "rules"_a);
  m.def("sketch", &sketch, array("codes"), array("weights"), array("start"), "dim"_a, "word"_a);
  m.def("node_codes", &node_codes, array("edge_index"), array("commutative"), array("initial"));
  m.def("canonical_order", &canonical_order, array("edge_index"), array("commutative"),
        array("codes"));
}
