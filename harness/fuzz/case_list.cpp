// Lists of cases to be verified: case_list_from() throws FileError that names the file, or gives cases that kernels have to compute, as
// many as are allowed, each of which is the same when it is read again as a line of its own.
#include "../verify/case_list.h"

#include "../generate/check_case.h"
#include "operators.h"
#include "target.h"

namespace assay::fuzz {
namespace {

std::vector<std::string> seeds() {
  return {
      "# sizes\n\n  cumsum:{f64,f32}:self={1,5}x{1..3},dim={0,-1}:seed=1  # of a vector\r\n",
      "addmm:f32:self=[],mat1=[2x{k:=0,3,7}]{,@permuted(1,0),@step2},mat2=$kx{0..32..16}:data={edge,trits}\n",
      "add.Tensor:self={f32,bf16}[{s:={2,3}x4,}],other=f32[$s]:seed={1..2}",
      "embedding:weight=f32[4x3],indices=i64[2]:data={normal,past_end}:seed=18446744073709551615",
  };
}

constexpr std::uint64_t kMost = 1000;  // a line of 100,000 is no other code

bool run(std::string_view input) {
  enrol_operators();
  const WantsOperator all = [](const std::string&) { return true; };
  return accepted([&] {
    const std::vector<Case> cases = case_list_from(input, kInputName, all, kMost);
    if (cases.empty() || cases.size() > kMost) broken("no case, or more than there may be");
    for (const Case& c : cases) {
      if (!check_case(c).ok()) broken("a case that is not allowed");
      const std::vector<Case> again = case_list_from(text(c), kInputName, all);
      if (again.size() != 1 || text(again[0]) != text(c))
        broken("\"" + text(c) + "\" is another case when it is read again");
    }
  });
}

}  // namespace

const Target kCaseList{"case_list", seeds, run};

}  // namespace assay::fuzz
