// What causes that move elements foretell of single elements, beside what the kernels of these causes give.
#include <gtest/gtest.h>

#include <numeric>

#include "harness/diagnose/memory_order.h"
#include "harness/diagnose/prediction.h"
#include "harness/diagnose/suspects.h"
#include "harness/generate/data.h"
#include "harness/variants/variant.h"

namespace assay::diagnose {
namespace {

constexpr Contract kStrict{};

std::vector<Variant> that_move(const Operator& op) {
  std::vector<Variant> all;
  for (std::vector<Variant> some : {suspects_of(op), further_suspects_of(op)})
    for (Variant& v : some)
      if (v.from) all.push_back(std::move(v));
  return all;
}

TEST(Prediction, AsksOfMovedResultsWhatTheirKernelStores) {
  // relu of small integers is exact.
  for (const char* text :
       {"relu:f32:self=2x3x4x5:data=integers:seed=3", "relu:f32:self=7x9:data=integers:seed=4",
        "relu:f32:self=3x2x11:data=integers:seed=5", "relu:f32:self=300:data=integers:seed=6",
        "relu:f32:self=[]:data=integers:seed=2"}) {
    const Call call = materialise(parse_case(text));
    int changed = 0;
    for (const Variant& v : that_move(*call.op)) {
      const std::vector<double> stored = results_of(v, call)[0].values;
      std::optional<Prediction> p = Prediction::of({.faults = {&v}}, call, kStrict);
      EXPECT_EQ(p.has_value(), moves_results(v, call)) << text << " " << v.name;
      if (!p) continue;
      ++changed;
      for (std::size_t i = 0; i < stored.size(); ++i)
        ASSERT_EQ(p->value(0, static_cast<std::int64_t>(i)), stored[i]) << text << " " << v.name << " " << i;
    }
    if (call.outputs[0].shape.size() > 1) {
      EXPECT_GE(changed, 20) << text;
    }
  }
}

TEST(Prediction, OfTwoMovesFollowsBoth) {
  const Call call = materialise(parse_case("relu:f32:self=6x7:data=integers:seed=9"));
  const std::vector<Variant> all = that_move(*call.op);
  const auto named = [&](std::string_view name) { return &*std::ranges::find(all, name, &Variant::name); };
  const Variant *first = named("results.columns_reversed"), *second = named("results.next");
  std::vector<VariantResult> stored = results_of(*first, call);
  second->results(stored, call);
  std::optional<Prediction> p = Prediction::of({.faults = {first, second}}, call, kStrict);
  ASSERT_TRUE(p);
  for (std::int64_t i = 0; i < 42; ++i)
    EXPECT_EQ(p->value(0, i), stored[0].values[static_cast<std::size_t>(i)]) << i;
}

TEST(MemoryOrder, PlacesAreThoseOfATransposedCopy) {
  const Shape shape{2, 3, 4, 5};
  for (std::vector<std::size_t> order{0, 1, 2, 3};;) {
    const MemoryOrder memory(shape, order);
    std::int64_t place = 0;
    Shape at(4);
    for (at[0] = 0; at[0] < shape[order[0]]; ++at[0])
      for (at[1] = 0; at[1] < shape[order[1]]; ++at[1])
        for (at[2] = 0; at[2] < shape[order[2]]; ++at[2])
          for (at[3] = 0; at[3] < shape[order[3]]; ++at[3], ++place) {
            Shape index(4);
            for (std::size_t k = 0; k < 4; ++k) index[order[k]] = at[k];
            const std::int64_t element = ((index[0] * 3 + index[1]) * 4 + index[2]) * 5 + index[3];
            ASSERT_EQ(memory.element_at(place), element);
            ASSERT_EQ(memory.place_of(element), place);
          }
    if (!std::ranges::next_permutation(order).found) break;
  }
}

}  // namespace
}  // namespace assay::diagnose
