// Numbers of which nothing is known: whatever is computed with them holds what any number in their place gives.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "arithmetic_of_test.h"

namespace assay::testing {
namespace {

template <class V>
using Binary = std::function<Tracked<V>(const Tracked<V>&, const Tracked<V>&)>;

template <class V>
std::vector<std::pair<std::string, Binary<V>>> operations() {
  using S = Tracked<V>;
  std::vector<std::pair<std::string, Binary<V>>> all{
      {"+", [](const S& a, const S& b) { return a + b; }},
      {"-", [](const S& a, const S& b) { return a - b; }},
      {"*", [](const S& a, const S& b) { return a * b; }},
      {"/", [](const S& a, const S& b) { return a / b; }},
      {"a*b+a", [](const S& a, const S& b) { return a * b + a; }},
      {"maximum", [](const S& a, const S& b) { return maximum(a, b); }},
      {"minimum", [](const S& a, const S& b) { return minimum(a, b); }},
      {"select", [](const S& a, const S& b) { return select(a < b, a, b); }},
      {"pow", [](const S& a, const S& b) { return pow(a, b); }},
      {"atan2", [](const S& a, const S& b) { return atan2(a, b); }},
      {"fmod", [](const S& a, const S& b) { return fmod(a, b); }},
      {"rint", [](const S& a, const S&) { return rint(a); }},
      {"abs", [](const S& a, const S&) { return abs(a); }},
      {"trunc", [](const S& a, const S&) { return trunc(a); }},
      {"floor", [](const S& a, const S&) { return floor(a); }},
      {"sqrt", [](const S& a, const S&) { return sqrt(a); }},
      {"group", [](const S& a, const S& b) { return group(a + b) * b; }},
      {"cast", [](const S& a, const S&) { return cast(a, Dtype::bf16); }},
      {"sum", [](const S& a, const S& b) {
         const S terms[] = {b, a, b, b, a, b};
         return sum<S>(6, [&](std::int64_t k) { return terms[k]; });
       }}};
  for (int f = 0; f < static_cast<int>(kFunctions); ++f) {
    const auto function = static_cast<Function>(f);
    if (function == Function::pow || function == Function::atan2) continue;
    all.emplace_back("function " + std::to_string(f),
                     [function](const S& a, const S&) { return elementary(function, a); });
  }
  return all;
}

template <class V>
void hold_what_any_number_gives(Dtype dtype, const char* contract) {
  const Under under(dtype, contract);
  using S = Tracked<V>;
  const double numbers[] = {0, -0.0, 1e-40, 0.25, -1, 3, -300, 1e30, HUGE_VAL, -HUGE_VAL, std::nan("")};
  const auto input = [](double x) { return ScalarOps<S>::input(x); };
  for (const auto& named : operations<V>())
    for (const double likely : {0.0, -2.5, 1e-42, 7e10}) {
      const std::string& name = named.first;
      const Binary<V>& operation = named.second;
      const S any = S::anything(V(likely));
      for (const double other : numbers)
        for (const bool first : {true, false}) {
          const auto apply = [&](const S& x) {
            return first ? operation(x, input(other)) : operation(input(other), x);
          };
          const S all = apply(any), both = operation(any, any);
          EXPECT_FALSE(std::isnan(static_cast<double>(all.error))) << name << " " << likely << " " << other;
          EXPECT_FALSE(std::isnan(static_cast<double>(both.error))) << name << " " << likely;
          const Interval set = finish(all);
          for (const double x : numbers) {
            const Interval one = finish(apply(input(x)));
            const bool finite = one.lower <= one.upper;
            for (const double result : {finite ? one.lower : one.value, finite ? one.upper : one.value})
              EXPECT_TRUE(set.contains(result))
                  << name << " of anything, likely " << likely << ", and " << other << ": " << result
                  << " of " << x << " is outside [" << set.lower << ", " << set.upper << "]";
          }
        }
    }
}

TEST(TrackedAnything, HoldsWhatAnyNumberGives) {
  for (const char* contract : {"", "compute=bf16", "accumulate=f16 daz=yes", "ftz=yes", "exp=2ulp div=1.5"}) {
    SCOPED_TRACE(contract);
    hold_what_any_number_gives<double>(Dtype::f32, contract);
    hold_what_any_number_gives<Real>(Dtype::f64, contract);
  }
}

}  // namespace
}  // namespace assay::testing
