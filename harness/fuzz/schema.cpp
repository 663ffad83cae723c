// Schema strings. Their parser runs in the compiler, where calling a function without a definition is the error; here
// those functions exist and throw.
#include "vocabulary/schema.h"

#include <stdexcept>

#include "target.h"

namespace assay {
namespace {
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};
}  // namespace

void schema_text_ends_too_early(std::size_t) { throw Malformed("ends too early"); }
void schema_expects_another_character(std::size_t, char) { throw Malformed("another character"); }
void schema_expects_a_name(std::size_t) { throw Malformed("a name"); }
void schema_unknown_type(std::size_t) { throw Malformed("unknown type"); }
void schema_has_too_many_arguments(std::size_t) { throw Malformed("too many arguments"); }
void schema_has_text_behind_its_end(std::size_t) { throw Malformed("text after the end"); }

namespace fuzz {
namespace {

std::vector<std::string> seeds() {
  return {
      "relu(Tensor self) -> Tensor",
      "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
      "assay::f(Tensor(a!) self, int[2]? stride=[1, 2], str mode=\"a,)b\", Tensor?[] more=[]) -> (Tensor x, Tensor)",
      "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
      "g(SymInt[] a, float b=1e-05, bool c=False, ScalarType? d=None) -> ()"};
}

// What does not fit an int does not compile either, by the rules of the language; at run time it would be undefined.
bool has_long_number(std::string_view text) {
  std::size_t digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > 9) return true;
  }
  return false;
}

bool run(std::string_view input) {
  if (has_long_number(input)) return false;
  Schema s;
  try {
    s = detail::SchemaParser(input).parse();
  } catch (const Malformed&) {
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

}  // namespace fuzz
}  // namespace assay
