// Shape rules: parse_shape_rule() throws std::invalid_argument that quotes the rule, or gives one whose questions have
// answers.
#include "vocabulary/shape_rule.h"

#include <stdexcept>

#include "target.h"
#include "toy_operators.h"
#include "vocabulary/shape_rule_text.h"

namespace assay::fuzz {
namespace {

std::vector<std::string> seeds() {
  return {"self=[N,C,*] other=[C] -> [N,C,*]; self=[*] other=[1] -> [*]",
          "self=[*]~ other=[*]~ -> [*]",
          "self=[*] -> [reduced(*,stride,flag)]",
          "stride=[+M] self=[*,*M] other=[*M] -> [*,1*M]",
          "n=G self=[N,G*C,+S] other=[G*K,C,*R<S] -> [N,G*K,convolved(*S,*R)]",
          "n=|*| flag=true self=[2,*] -> [numel(*)]; n=A*B flag=false self=[A*B] -> []"};
}

bool run(std::string_view input) {
  Operator op = kToy;
  op.shapes = input;
  ShapeRule rule;
  try {
    rule = parse_shape_rule(op);
  } catch (const std::invalid_argument& e) {
    if (std::string_view(e.what()).find("the shape rule is malformed") == std::string_view::npos)
      broken("an error that does not say what is malformed");
    return false;
  }
  if (rule.alternatives.empty()) broken("a rule without alternatives");
  for (const ShapeAlternative& a : rule.alternatives) {
    if (a.outputs.size() != op.schema.result_count) broken("not one pattern for each result");
    for (const std::string& r : a.runs()) {
      (void)a.some(r);
      (void)a.window_in(r);
    }
    (void)a.symbols();
    for (std::size_t i = 0; i < op.schema.argument_count; ++i) (void)a.binds(i);
  }
  return true;
}

}  // namespace

const Target kShapeRule{"shape_rule", seeds, run};

}  // namespace assay::fuzz
