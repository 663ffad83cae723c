// The 191-bit reading, which knows nothing of Tracked, against the other readings: it lies inside every interval, and
// the double reading is within what rounding in double explains.
#include <gtest/gtest.h>

#include "random_call.h"
#include "test/effort.h"

namespace assay::testing {
namespace {

TEST(Truth, LiesInsideEveryInterval) {
  long elements = 0, overflows = 0;
  for (const char* clause : {"", "compute=bf16", "accumulate=bf16", "multiply=bf16", "store=faithful",
                             "chain=pairwise(4)", "exp=1ulp div=1"})
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64}) {
      const Contract contract =
          *clause == 0 ? Contract{} : parse_contract(std::string(clause) + " -- test", dtype);
      for (const Reference* r : references())
        for (const Family family : kFamilies)
          for (std::uint64_t seed = 0; seed < (*clause == 0 ? effort(12u, 3u) : effort(3u, 1u)); ++seed) {
            RandomCall c(r->op(), dtype, family, 99 + seed);
            for (int output = 0; output < static_cast<int>(c.call.outputs().size()); ++output) {
              const std::int64_t numel = c.call.numel(output);
              for (std::int64_t k = 0; k < numel; k += std::max<std::int64_t>(1, numel / 12), ++elements) {
                const Interval i = c.evaluation->interval(output, k, contract);
                if (!std::isfinite(i.value) && std::isfinite(c.evaluation->truth(output, k))) {
                  ++overflows;  // of double, where 191 bits have none: 0 * exp(1000)
                  continue;
                }
                ASSERT_TRUE(c.evaluation->truth_inside(output, k, i))
                    << r->op().schema.name << " " << name(dtype) << " "
                    << kFamilyNames[static_cast<int>(family)] << " " << c.text << " result " << output
                    << " element " << k << ": " << c.evaluation->truth(output, k) << " outside [" << i.lower
                    << ", " << i.upper << "] " << clause;
              }
            }
          }
    }
  std::printf("%ld elements, in %ld of which double overflows\n", elements, overflows);
  EXPECT_LT(overflows, elements / 100);
}

TEST(Truth, ASpoiledIntervalIsNoticed) {
  Call c("mm");
  c.tensor(Dtype::f32, {1, 2}, {0.1, 0.7}).tensor(Dtype::f32, {2, 1}, {3, 0.3});
  Evaluation& e = c.evaluate();
  Interval i = e.interval(0, 0, {});
  ASSERT_TRUE(e.truth_inside(0, 0, i));
  i.lower = i.upper = std::nextafter(static_cast<float>(i.upper), 9.0f);
  EXPECT_FALSE(e.truth_inside(0, 0, i));
}

// Without cancellation every result in double is within a few units in the last place of the 191-bit one.
TEST(Truth, DoubleAgreesToAFewUlps) {
  for (const Reference* r : references()) {
    // x - mean cancels, whatever the signs, and so does end - self.
    if (r->op().schema.name.find("_norm") != std::string_view::npos || r->op().schema.name == "lerp.Tensor") continue;
    double worst = 0;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      RandomCall c(r->op(), Dtype::f64, Family::positive, seed);
      if (c.text.find("=-") != std::string::npos) continue;  // a negative factor cancels
      for (int output = 0; output < static_cast<int>(c.call.outputs().size()); ++output) {
        const std::vector<double> values = c.call.values(output);
        for (std::size_t k = 0; k < values.size(); ++k) {
          const double truth = c.evaluation->truth(output, static_cast<std::int64_t>(k));
          if (truth == values[k]) continue;
          worst = std::max(worst, std::fabs(values[k] - truth) / (std::fabs(truth) * 0x1p-52));
        }
      }
    }
    std::printf("%-16s %.2f ulp\n", std::string(r->op().schema.name).c_str(), worst);
    EXPECT_LE(worst, 16) << r->op().schema.name;
  }
}

}  // namespace
}  // namespace assay::testing
