// Files of the self-test: selftest_from_json() throws FileError that names the file, or gives faults that can be counted.
#include "reports/selftest_file.h"

#include "reports/file.h"
#include "target.h"

namespace assay::fuzz {
namespace {

std::vector<std::string> seeds() {
  const std::string begin =
      R"({"format":"assay.selftest/1","seed":1,"complete":true,"seconds":0.5,"planted":[)";
  const std::string found =
      R"({"op":"relu","dtype":"f32","variant":"results.next","says":"s","found":true,"verdict":"diverged","case":"relu:f32:self=3",)"
      R"("cases":2,"further":false,"by":{"assert_close":true,"allclose":false},"unobservable":""})";
  const std::string excused =
      R"({"op":"exp","dtype":"bf16","variant":"self.clipped","says":"s","found":false,"verdict":"pass","case":"","cases":9,)"
      R"("further":true,"by":{},"unobservable":"why"})";
  const std::string controls =
      R"(],"not_planted":[],"controls":[{"op":"relu","dtype":"f32","kernel":"cpu","alarm":"","by":{"allclose":true}}],)"
      R"("score":{"planted":2,"unobservable":1,"found":1,"by":{"allclose":0}}})";
  return {begin + found + "," + excused + controls, begin + controls, begin + R"(],"controls":[]})"};
}

bool run(std::string_view input) {
  return accepted([&] {
    const SelftestFile file = selftest_from_json(input, kInputName);
    const MutationScore score = score_of(file);
    if (score.observable + score.unobservable != file.planted.size()) broken("faults that are not counted");
    if (score.found > score.observable) broken("more faults found than there are");
  });
}

}  // namespace

const Target kSelftestFile{"selftest_file", seeds, run};

}  // namespace assay::fuzz
