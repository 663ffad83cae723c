// Lists of cases to be timed: shapes_from() throws FileError that names the file, or gives cases with reasons that can be run as they
// are, and that read the same again.
#include "../bench/shapes.h"

#include "../generate/check_case.h"
#include "operators.h"
#include "target.h"

namespace assay::fuzz {
namespace {

std::vector<std::string> seeds() {
  return {
      "# of a network\n\n  addmm:f32:self=5,mat1=4x3,mat2=3x5   # the classifier\r\n"
      "sum.dim_IntList:f32:self=2x3x4,dim=[0,-1],keepdim=true\t# a # in it\n",
      "convolution:f32:input=1x4x5x5,weight=4x1x3x3,bias=none,stride=[1,1],padding=[1,1],dilation=[1,1],transposed=false,"
      "output_padding=[0,0],groups=4  # depthwise\n",
      "embedding:weight=f32[4x3],indices=i64[2]:data=normal:seed=18446744073709551615 # rows",
  };
}

bool run(std::string_view input) {
  enrol_operators();
  return accepted([&] {
    for (const BenchCase& b : shapes_from(input, kInputName)) {
      if (b.reason.empty() || !b.place.starts_with(kInputName)) broken("a case without a reason or a place");
      if (!check_case(b.c).ok()) broken("a case that is not allowed");
      const std::string line = text(b.c) + "  # " + b.reason;
      const std::vector<BenchCase> again = shapes_from(line, kInputName);
      if (again.size() != 1 || text(again[0].c) != text(b.c) || again[0].reason != b.reason)
        broken("\"" + line + "\" is another case when it is read again");
    }
  });
}

}  // namespace

const Target kShapes{"shapes", seeds, run};

}  // namespace assay::fuzz
