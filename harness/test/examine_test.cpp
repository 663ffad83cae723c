// Cases that are run and judged: what becomes of them where work ends early.
#include "harness/examine/examine.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/run/lane.h"
#include "vocabulary/case.h"
#include "vocabulary/stop.h"

namespace assay {
namespace {

// Small cases are made some at a time before they run: those that were made when the time was over are no less cases.
TEST(Examine, EveryCaseHasFindingsWhereverItIsStopped) {
  std::vector<Case> cases;
  for (int i = 0; i < 8; ++i) cases.push_back(parse_case("relu:f32:self=3:seed=" + std::to_string(i)));
  for (int most = 0; most < 10; ++most) {
    Examiner examiner(make_zygotes(), {});
    int asked = 0;
    const StopScope scope([&] { return ++asked > most; });
    EXPECT_EQ(examiner.examine(cases, {}, {.properties = false}).size(), cases.size()) << most;
  }
}

}  // namespace
}  // namespace assay
