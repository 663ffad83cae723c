// Wrong kernels on purpose: what `assay selftest` plants, to see whether Assay finds it.
//
// A variant is a named transformation of an operator's reference: of the arguments that it is given, of the arithmetic
// that it is read in, of its results, or of what a kernel does to memory. Operators inherit variants from their schema;
// formulas that are wrong for one operator alone stand beside its reference (vocabulary/wrong_formula.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../model/call.h"
#include "../run/lane.h"
#include "vocabulary/reference.h"

namespace assay {

// One result of a variant, before it is rounded to its dtype and stored. Elements in row-major order.
struct VariantResult {
  Dtype dtype = Dtype::f32;
  Shape shape;
  std::vector<double> values;
  std::vector<std::int64_t> integers;  // instead of values, where the operator is computed in integers
  std::size_t stored = 0;              // the first so many elements are written

  std::size_t size() const { return values.size() + integers.size(); }
  // Element i becomes what element `from` was; zero if there is none.
  void move(const std::function<std::optional<std::size_t>(std::size_t i)>& from);
};

// Which element is stored in place of element i of a result; zero if there is none.
using MovedFrom = std::function<std::optional<std::size_t>(std::size_t i)>;

// What an operator must compute so that a variant of arithmetic is one: counted by its reference.
// `rounding`: a result that its dtype does not hold, and that is rounded therefore.
enum class Concerns : std::uint8_t { anything, rounding, arithmetic, products, sums, functions, moments };

struct Variant {
  std::string name;  // "dim.last", "results.tail_of_8"
  std::string says;  // "takes the last dimension, whatever dim is"
  Concerns concerns = Concerns::anything;
  DtypeSet dtypes = kFloatingPoint | kIntegers;  // of results

  // Each may be empty. They are used in this order:
  // Arguments that the check finds wrong are accepted, and zeros are stored: any, or those for which it blames the argument `blamed`.
  bool accepts_anything = false;
  std::string blamed{};
  // Is given the call, with its own arguments and memory, before anything is computed. A code other than ASSAY_OK ends the call.
  std::function<int(const assay_call&)> first{};
  // Changes a copy of the call, from which results are computed then. Returns whether it has changed anything; see change_arguments.
  std::function<bool(Call&)> arguments{};
  bool keeps_shapes = false;  // computes results of the call's own shapes even so: windows elsewhere
  int argument = -1;  // the tensor whose numbers are changed: without effect if the formula does not read it
  const Reference* formula = nullptr;  // instead of the operator's own
  std::string_view definition{};       // whose definition of the operator that is, or empty
  std::string contract{};              // computed in these formats, one operation after another
  Attack attack{.shuffle = false};
  std::function<void(std::vector<VariantResult>&, const Call&)> results{};
  double change_errs = 0;      // of `results`: how far off, relatively, a kernel may be that does the same
  bool errs_as_input = false;  // that is, relatively to the right result, where it is larger
  bool moves = false;          // elements are read or stored elsewhere, and no number is changed
  // Of `moves`, where each result's elements come from, from its shape and how many there are. `results` does the same to all of them;
  // who looks at a few elements of many need not have moved the others.
  std::function<MovedFrom(const Shape& shape, std::size_t size)> from{};
  // Of faults that are read off results, and not planted:
  // instead of `results`, where what becomes of a number depends on its place, or on the other results. It is made once from all
  // results of output 0, row-major, and the call.
  using OfPlace = std::function<double(double x, std::int64_t at)>;
  std::function<OfPlace(std::span<const double> all, const Call&)> of_place{};
  bool looks_at_others = true;  // `of_place`; else it is given no results
  double beside_errs = 1;       // of `of_place`: as many times as unsure as its number alone a result is
  double errs_at_least = 0;     // `change_errs` of a result is that of one of this size at least
  std::optional<Dtype> rounded_to{};  // and then, with what `change_errs` makes of it, rounded to this dtype
  // the results that have the fault, if not all have it; the others are as the reference says
  std::function<bool(int output, std::int64_t at)> within{};
  // Is given the call, with its own arguments and memory, once the results are stored.
  std::function<void(const assay_call&)> last{};
  bool garbage = false;  // it leaves in the result what was in that memory before
};

// Whether the variant changes this call, whose outputs are known, and then with it changed. A change that is not allowed, or makes
// results of other shapes, is none.
bool change_arguments(const Variant& variant, Call& call);
// The call that it makes of one that nobody needs any more, or nothing.
std::optional<Call> changed_by(const Variant& variant, Call call);
// The operator's reference, or the wrong formula that the variant has instead.
const Reference& formula_of(const Variant& variant, const Operator& op);

// A variant whose results come from elsewhere.
Variant moving(std::string name, std::string says,
               std::function<MovedFrom(const Shape& shape, std::size_t size)> from);

// Whether a variant that moves results puts any of this call's elsewhere: of a single row, the first is every one.
bool moves_results(const Variant& variant, const Call& call);

// What the variant computes of a call, and how it stores that. Its arguments are not changed here.
std::vector<VariantResult> results_of(const Variant& variant, const Call& call);

// What a kernel of a variant reports of a call whose arguments it has changed.
inline constexpr std::string_view kPlantedHere = "planted";

// Every variant of an operator; names are unique. The first is "none", the reference itself.
std::vector<Variant> variants_of(const Operator& op);

// Families of variants, in the order of `variants_of`.
void add_argument_variants(const Operator& op, std::vector<Variant>& all);
void add_tensor_variants(const Operator& op, std::vector<Variant>& all);
void add_arithmetic_variants(const Operator& op, std::vector<Variant>& all);
// Those that are planted, or the others, which a diagnosis alone looks for.
void add_formula_variants(const Operator& op, std::vector<Variant>& all, bool planted = true);
// Of recurrent layers (graph/recurrent.h): gates in another order, a bias or a state that is missing, steps in the other direction.
void add_recurrent_variants(const Operator& op, std::vector<Variant>& all);
void add_result_variants(const Operator& op, std::vector<Variant>& all);
void add_behaviour_variants(const Operator& op, std::vector<Variant>& all);

// The table of a worker process: every variant of every operator as a kernel.
inline constexpr std::string_view kVariantsFlag = "--variants";
// And a kernel of this name for every operator, which gives zeros.
inline constexpr std::string_view kZeros = "zeros";
WorkerTable variants_table();

}  // namespace assay
