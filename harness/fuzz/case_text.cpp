// Case text: parse_case() throws CaseError or gives a case whose text reads the same again.
#include "target.h"
#include "toy_operators.h"
#include "vocabulary/case.h"
#include "vocabulary/operators.h"

namespace assay::fuzz {
namespace {

std::vector<std::string> seeds() {
  return {
      "toy:f32:self=2x3x4:data=normal:seed=1",
      "toy:bf16:self=[2x3]@step2,other=[3]@offset(2),alpha=-1.5:data=uniform:seed=18446744073709551615",
      "toy:self=f16[2x3x4x5]@channels_last,other=i8[3]@expanded(0),alpha=7,stride=3,n=-9,eps=inf,flag=true",
      "toy:self=f64[]@strides(),stride=[1,2],mode=\"sum\",dtype=u8,memory_format=channels_last",
      "toy:f32:self=0x3,other=none,scales=[1.0,nan,1e-300],mask=[true,False,true]",
      "toy:f32:self=2,mode=none",
      "toy_list:i64:tensors=[[2],[2x3]@permuted(1,0)],more=[1x1],dim=-1:seed=3",
      "toy_indexed:f32:weight=4x2,indices=5",
      "toy_indexed:weight=f32[4x2],indices=i32[5]",
  };
}

bool run(std::string_view input) {
  static const bool enrolled = [] {
    for (const Operator* op : {&kToy, &kList, &kIndexed}) enrol_operator(*op);
    return true;
  }();
  (void)enrolled;
  Case c;
  try {
    c = parse_case(input);
  } catch (const CaseError&) {
    return false;
  }
  const std::string written = text(c);
  std::string again;
  try {
    again = text(parse_case(written));
  } catch (const CaseError& e) {
    broken("\"" + written + "\" is the text of a case, but cannot be read: " + e.what());
  }
  if (again != written) broken("\"" + written + "\" is read as \"" + again + "\"");
  return true;
}

}  // namespace

const Target kCaseText{"case_text", seeds, run};

}  // namespace assay::fuzz
