// Schema strings: schema_of() throws GraphError, or gives a schema whose names are parts of the text.
#include "graph/graph.h"
#include "target.h"

namespace assay::fuzz {
namespace {

std::vector<std::string> seeds() {
  return {
      "relu(Tensor self) -> Tensor", "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
      "assay::f(Tensor(a!) self, int[2]? stride=[1, 2], str mode=\"a,)b\", Tensor?[] more=[]) -> (Tensor x, Tensor)",
      "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
      "g(SymInt[] a, float b=1e-05, bool c=False, ScalarType? d=None) -> ()"};
}

bool run(std::string_view input) {
  Schema s;
  try {
    s = schema_of(input);
  } catch (const GraphError&) {
    return false;
  }
  const auto within = [&](std::string_view part) {
    return part.empty() ||
           (part.data() >= input.data() && part.data() + part.size() <= input.data() + input.size());
  };
  if (s.argument_count > kMaxArguments || s.result_count > kMaxResults)
    broken("more arguments than there is room");
  if (s.base.empty() || !within(s.base) || !within(s.name) || !within(s.overload))
    broken("a name from elsewhere");
  for (const Argument& a : s.arguments())
    if (a.name.empty() || !within(a.name) || !within(a.default_text) || s.find(a.name) < 0)
      broken("an argument without a name");
  return true;
}

}  // namespace

const Target kSchema{"schema", seeds, run};

}  // namespace assay::fuzz
