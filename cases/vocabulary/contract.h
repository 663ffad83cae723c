// The numeric contract: what a kernel's code promises about its numbers, as data.
//
// No field is a tolerance. Each is a statement about code that a reader can check, and each that is not strict names
// its source. Text form (the `contract` of assay_kernel), one clause a line:
//
//   clause = [dtype {"," dtype} ":"] item {" " item} " -- " source      item = field "=" value | "strict"
//
// A later clause overrides an earlier one. `strict` takes back what was stated before it, except how the kernel is to be called
// (alignment, in_place).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dtype.h"

namespace assay {

// Elementary functions whose error a contract states.
enum class Function : std::uint8_t {
  exp,
  log,
  tanh,
  erf,
  sin,
  cos,
  asin,
  acos,
  atan,
  exp2,
  log2,
  expm1,
  log1p,
  pow,
  atan2
};
inline constexpr int kFunctions = 15;
inline constexpr std::array<std::string_view, kFunctions> kFunctionNames{
    "exp",  "log",  "tanh", "erf",  "sin",   "cos",   "asin",
    "acos", "atan", "exp2", "log2", "expm1", "log1p", "pow", "atan2"};

struct Accuracy {
  double ulp = 0.5;  // |error| <= ulp units in the last place of the compute format (0.5: correctly rounded)
  double absolute = 0;  // plus this much, whatever the size of the result
};

// How many additions one term of a sum of n terms may pass through. blocked(B): blocks of B terms, whose sums are added;
// pairwise(B): those sums in a tree; partial(P): P sums side by side, as in the lanes of vectors, which are added at the end.
struct Chain {
  enum class Kind : std::uint8_t { any, blocked, pairwise, partial } kind = Kind::any;
  std::int64_t block = 0;  // B, or P
  // n-1 | ceil(n/B)+B | B+ceil(log2(n/B))+1 | ceil(n/P)+P, never more than n-1
  double additions(double terms) const;
  std::size_t block_of(
      std::size_t terms) const;  // terms that are added one after the other; all of them under `any`
};

// How an addition of a sum rounds. 0: to nearest. Otherwise as tensor cores do, `at_once` terms or more in a step but a sum's last one:
// of these and the sum so far each is cut off one bit below the last one of the largest, and what they add up to is cut off to the
// accumulator. At 1, steps may have any number of terms that are not zero.
struct CutOff {
  std::int64_t at_once = 0;
  friend bool operator==(const CutOff&, const CutOff&) = default;
};

// How the mean of numbers and the sum of their squared distances from it come about.
//   two_pass   the sum, divided by n; then the sum of (x - mean)^2
//   updating   parts of the numbers, single ones at first, are merged: a part B goes into a part A of n_A numbers, A may
//              be the smaller one, by d = mean_B - mean_A, mean = mean_A + d n_B / n and squares = squares_A + squares_B +
//              d^2 n_A n_B / n, a single x also by squares_A + d (x - mean) (Welford 1962; Chan, Golub and LeVeque 1983).
//              No number takes part in more than log2(n) merges in which A is the smaller one. Two passes are as good.
//   one_pass   the sums of x and of x^2; the mean, and the sum of x^2 less n times the squared mean: next to nothing is left of it
//              where the mean is large beside the spread. Two passes are as good.
enum class MomentsBy : std::uint8_t { two_pass, updating, one_pass };

enum class Algorithm : std::uint8_t { direct, winograd, fft };

struct Contract {
  // Formats. An empty one means the strict choice: compute is f32 for f16 and bf16 results and the result's own dtype
  // otherwise; accumulate and multiply are compute.
  std::optional<Dtype> compute;     // every operation is rounded to this format
  std::optional<Dtype> accumulate;  // partial sums
  std::optional<Dtype> multiply;    // the operands of products are rounded to this first (tf32 style)
  // operands=wide: what has a wider dtype than the f16 or bf16 that an operator converts it to may be read in f32, unconverted.
  bool wide_operands = false;
  bool faithful_store = false;  // store=faithful: the result is one of the two neighbours, not the nearest
  Chain chain;                  // chain=any | blocked(B) | pairwise(B) | partial(P)
  CutOff cut_off;               // addition=nearest | cut_off(N)
  std::array<Accuracy, kFunctions> accuracy{};  // exp=2ulp, erf=4e-7abs, exp=1ulp+1e-9abs
  double div_extra = 0;       // div=1: roundings a division takes beyond the correct one, in unit roundoffs
  double sqrt_extra = 0;      // sqrt=1
  bool ftz = false;           // results that are subnormal may be zero
  bool daz = false;           // inputs that are subnormal may be read as zero
  double tiny = 0;            // with ftz, results of elementary functions below this may be zero
  bool signed_zero = true;    // signed_zero=ignore: the sign of a zero result means nothing
  bool nonfinite = true;      // nonfinite=unspecified: NaN and infinite inputs may give anything
  bool first_tie = true;      // tie=any: of equal candidates any index may be returned
  bool deterministic = true;  // deterministic=no: bits may differ between runs and alignments
  bool layout_invariant = true;  // layout_invariant=no: bits may depend on strides
  bool row_invariant =
      true;  // row_invariant=no: the bits of a row may depend on how many other rows there are
  bool position_invariant =
      true;  // position_invariant=no: bits of an element may depend on where it lies among the others
  bool thread_invariant = true;  // thread_invariant=no: bits may depend on the number of threads
  bool in_place = false;         // in_place=yes: the first result may share the memory of Operator::in_place
  std::int64_t alignment = 0;    // alignment=64: buffers must start at a multiple of this many bytes
  Algorithm algorithm = Algorithm::direct;
  MomentsBy moments = MomentsBy::two_pass;
  bool folded_affine =
      false;  // affine=folded: x * scale + shift, shift = -mean * scale, for (x - mean) * scale
  bool rewritten = false;  // form=rewritten: activations by the formulas of ONNX and of inference engines

  struct Stated {
    std::string field;   // "exp"
    std::string value;   // "2ulp"
    std::string source;  // where the code or its documentation says so
  };
  std::vector<Stated> stated;  // every field that a clause set, in order

  // The compute and accumulate formats for a result of this dtype, defaults filled in.
  const Format& compute_format(Dtype result) const;
  const Format& accumulate_format(Dtype result) const;
  const Format& multiply_format(Dtype result) const;
};

// What a field means, for --help, `assay ops` and error messages.
struct ContractField {
  std::string_view name;
  std::string_view values;
  std::string_view meaning;
};
const std::vector<ContractField>& contract_fields();

// The contract that `text` states for results of dtype `dtype`. Throws std::invalid_argument naming the clause and
// the field that is wrong, a clause without source included. An empty text is the strict contract.
Contract parse_contract(std::string_view text, Dtype dtype);

// The clauses followed by those of `by`, which override them: what `--contract` makes of what a kernel declares. A `by` without a
// source, as on a command line, gets one.
std::string overridden(std::string_view clauses, std::string_view by);

// Whether they give the same intervals.
bool same_arithmetic(const Contract& a, const Contract& b);

// The stated fields as one line, "compute=f32 exp=1ulp"; "strict" when there are none.
std::string text(const Contract& contract);

}  // namespace assay
