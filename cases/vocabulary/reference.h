// What the harness asks of an operator's reference. The references themselves stand in reference/, one file a family.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "check.h"
#include "contract.h"
#include "operator.h"
#include "work.h"

namespace assay {

// The results that one output element may have under a contract: a closed interval of finite numbers of the output's
// format, plus NaN and infinities where they are legal.
struct Interval {
  double value = 0;  // the reference's own result, not rounded to the output's format; may be NaN or infinite
  double lower = 0;  // least and greatest admissible finite results; lower > upper when no finite one is
  double upper = 0;
  bool nan = false;
  bool positive_infinity = false;
  bool negative_infinity = false;
  bool exact_zero_sign = false;  // lower == upper == 0 and the sign of zero is decided: it is that of `value`
  std::vector<std::int64_t>
      places{};  // of a position: those from lower to upper that are admissible, if not all are

  bool undecidable() const;  // anything at all would pass
  bool contains(double result) const;
  double relative_width() const;  // (upper - lower) / |value|
  // |result - value| over the admissible distance on that side: 1 at the end of the interval, above 1 outside.
  double error_over_bound(double result) const;
};

// How the adversary perturbs (reference/scalars/adversary.h).
struct Attack {
  enum class Rounding : std::uint8_t { up, down, random_sign, uniform, nearest } rounding = Rounding::nearest;
  bool shuffle = true;  // sums in random order and association
  bool fuse = false;    // products entering a sum are not rounded
  std::uint64_t seed = 0;
};

// One call, with its inputs read once. Elements are numbered in row-major order of the output's shape.
class Evaluation {
 public:
  virtual ~Evaluation() = default;

  // The reference in double for every element of the output.
  virtual void values(int output, std::span<double> out) = 0;

  // Whether the output is computed in integers (Operator::in_integers); then it is `out`, to the bit. Doubles hold integers up to
  // 2^53, so that what the other functions say of such an output is for display, and for comparing what differs a lot.
  virtual bool integers(int output, std::span<std::int64_t> out) = 0;

  // Elements of which this is the same share work, so that they are cheapest asked for one after the other.
  virtual std::int64_t row(int output, std::int64_t element) = 0;

  // The intervals of some elements under the contract, each handed to `take` as it is found, row after row.
  using TakeInterval = std::function<void(std::int64_t element, Interval&& interval)>;
  virtual void intervals(int output, std::span<const std::int64_t> elements, const Contract& contract,
                         const TakeInterval& take) = 0;
  // Of one.
  Interval interval(int output, std::int64_t element, const Contract& contract);

  // Where the 191-bit value lies: as itself rounded to double, and whether it is inside an interval
  // (its nearest element of the output's format is meant where the interval's ends are of that format).
  virtual double truth(int output, std::int64_t element) = 0;
  virtual bool truth_inside(int output, std::int64_t element, const Interval& interval) = 0;

  // J v for one output element, exactly by the chain rule: direction[i] holds one number for each element of tensor
  // argument i (row-major), and is empty for arguments that do not move.
  virtual double derivative(int output, std::int64_t element,
                            std::span<const std::vector<double>> direction) = 0;

  // Of all outputs. The whole formula is computed, which takes some nanoseconds for each operation.
  virtual Work work() = 0;

  // One result that a conforming kernel of this contract could give, rounded to the output's format. With
  // Rounding::nearest and neither shuffle nor fuse it is what a kernel gives that computes the formula as it is written, in
  // the formats of the contract: bf16 operands, sums in f16.
  virtual double attacked(int output, std::int64_t element, const Contract& contract,
                          const Attack& attack) = 0;
};

class Reference {
 public:
  virtual ~Reference() = default;
  virtual const Operator& op() const = 0;
  virtual std::string_view file() const = 0;
  virtual int line() const = 0;

  // Precondition: check_arguments(op(), arguments) is ok and gave `outputs`. The tensors' data is read here.
  virtual std::unique_ptr<Evaluation> evaluate(std::span<const assay_value> arguments,
                                               std::span<const Checked::Output> outputs) const = 0;

  // Of a formula that is meant to be wrong: why no call shows that it is, in one line; empty if nothing is known of that. Graphs know.
  virtual std::string_view excuse() const { return {}; }
};

// Every reference linked into the program, sorted by operator name. Entered by EnrolledReference objects.
std::span<const Reference* const> references();
// nullptr if there is none of this name ("add.Tensor").
const Reference* find_reference(std::string_view op);

class EnrolledReference {
 public:
  explicit EnrolledReference(const Reference* reference);
};

}  // namespace assay
