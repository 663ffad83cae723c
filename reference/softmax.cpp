#include "ops/softmax.h"

#include <algorithm>

#include "in_f32.h"
#include "once.h"
#include "reference_of.h"

namespace assay {
namespace {

template <class S>
S largest(const Tensor<S>& self, Row<S>& row) {
  S m = self[row.index(0)];
  for (std::int64_t k = 1; k < row.size(); ++k) m = maximum(m, self[row.index(k)]);
  return m;
}

struct Softmax {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t /*dim*/, std::optional<Dtype> /*dtype*/,
                  Row<S>& out) const {
    const std::int64_t n = out.size();
    const S max = largest(self, out);
    for (std::int64_t k = 0; k < n; ++k) out[k] = exp(self[out.index(k)] - max);
    const S total = sum<S>(n, [&](std::int64_t k) { return out[k]; });
    for (std::int64_t k = 0; k < n; ++k) out[k] = out[k] / total;
  }
};

// The maximum is taken away first: added to the logarithm, a large one would swallow it.
struct LogSoftmax {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t /*dim*/, std::optional<Dtype> /*dtype*/,
                  Row<S>& out) const {
    const std::int64_t n = out.size();
    const S max = largest(self, out);
    for (std::int64_t k = 0; k < n; ++k) out[k] = group(self[out.index(k)] - max);
    const S total = log(sum<S>(n, [&](std::int64_t k) { return exp(out[k]); }));
    for (std::int64_t k = 0; k < n; ++k) out[k] = out[k] - total;
  }
};

struct SoftmaxBackward {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& grad, const Tensor<S>& output, std::int64_t /*dim*/, Dtype /*input_dtype*/,
                  Row<S>& out) const {
    const std::int64_t n = out.size();
    const S total =
        group(sum<S>(n, [&](std::int64_t k) { return grad[out.index(k)] * output[out.index(k)]; }));
    for (std::int64_t k = 0; k < n; ++k) out[k] = (grad[out.index(k)] - total) * output[out.index(k)];
  }
};

struct LogSoftmaxBackward {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& grad, const Tensor<S>& output, std::int64_t /*dim*/, Dtype /*input_dtype*/,
                  Row<S>& out) const {
    const std::int64_t n = out.size();
    const S total = sum<S>(n, [&](std::int64_t k) { return grad[out.index(k)]; });
    for (std::int64_t k = 0; k < n; ++k) out[k] = grad[out.index(k)] - exp(output[out.index(k)]) * total;
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

// In f64, of which powers of e are never too large for the kernel's arithmetic in cases, or in f32.
template <bool f32>
struct WithoutMaximum {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t, std::optional<Dtype>, Row<S>& out) const {
    const auto stored = [](const S& x) { return f32 ? in_f32(x) : x; };
    for (std::int64_t k = 0; k < out.size(); ++k) out[k] = stored(exp(self[out.index(k)]));
    const S total = stored(sum<S>(out.size(), [&](std::int64_t k) { return out[k]; }));
    for (std::int64_t k = 0; k < out.size(); ++k) out[k] = out[k] / total;
  }
};

struct LogWithoutMaximum {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t, std::optional<Dtype>, Row<S>& out) const {
    const S total =
        log(in_f32(sum<S>(out.size(), [&](std::int64_t k) { return in_f32(exp(self[out.index(k)])); })));
    for (std::int64_t k = 0; k < out.size(); ++k) out[k] = self[out.index(k)] - total;
  }
};

// The running maximum is -infinity before the first element, and exp(-infinity - -infinity) is NaN if that is -infinity, too.
template <class Right>
struct NotANumberAfterInfinity {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t dim, std::optional<Dtype> dtype, Row<S>& out) const {
    Right{}(self, dim, dtype, out);
    if (out.size() == 0) return;
    const S first = self[out.index(0)] - self[out.index(0)];  // NaN of an infinity, else 0
    for (std::int64_t k = 0; k < out.size(); ++k) out[k] = out[k] + first;
  }
};

// Over `dim` and the dimension in front of it; or over everything.
template <bool of_everything>
struct OverMoreDimensions {
  template <class S>
  S operator()(const Tensor<S>& self, std::int64_t dim, std::optional<Dtype>, const Index& i) const {
    if (i.rank() == 0) return exp(self.at(0) - self.at(0));
    const auto last = static_cast<int>(dim < 0 ? dim + i.rank() : dim), first = std::max(last - 1, 0);
    // Elements (o, k, i), of which k is in both dimensions.
    const Fibers behind(i.shape(), last), in_front(i.shape(), first);
    const std::int64_t inner = of_everything ? 1 : behind.inner;
    const std::int64_t outer = of_everything ? 1 : in_front.outer;
    const std::int64_t n = behind.outer * behind.size * behind.inner / (inner * outer);
    const std::int64_t block = i.number() / (n * inner), place = i.number() % inner;
    const auto x = [&](std::int64_t k) { return self.at((block * n + k) * inner + place); };
    struct Both {
      S max, total;
    };
    const Both& both = once<S>(block * inner + place, [&] {
      S max = x(0);
      for (std::int64_t k = 1; k < n; ++k) max = maximum(max, x(k));
      return Both{max, sum<S>(n, [&](std::int64_t k) { return exp(x(k) - max); })};
    });
    return exp(self.at(i.number()) - both.max) / both.total;
  }
};

// Divides by the sum of the row before, as a block does that reads too early; with its own maximum or the other row's.
template <bool own_maximum>
struct SumOfTheRowBefore {
  template <class S>
  S operator()(const Tensor<S>& self, std::int64_t dim, std::optional<Dtype>, const Index& i) const {
    if (i.rank() == 0) return exp(self.at(0) - self.at(0));
    const Fibers rows(i.shape(), static_cast<int>(dim < 0 ? dim + i.rank() : dim));
    const std::int64_t n = rows.size, inner = rows.inner;
    const std::int64_t row = i.number() / (n * inner) * inner + i.number() % inner;
    struct Both {
      S max, total;
    };
    const auto both_of = [&](std::int64_t number) -> const Both& {
      const std::int64_t begin = number / inner * n * inner + number % inner;
      return once<S>(number, [&] {
        S max = self.at(begin);
        for (std::int64_t k = 1; k < n; ++k) max = maximum(max, self.at(begin + k * inner));
        return Both{max, sum<S>(n, [&](std::int64_t k) { return exp(self.at(begin + k * inner) - max); })};
      });
    };
    const Both& before = both_of(std::max<std::int64_t>(row - 1, 0));
    return exp(self.at(i.number()) - (own_maximum ? both_of(row).max : before.max)) / before.total;
  }
};

// Rows are filled up with zeros to a multiple of `size`, or by one more, which are counted with the others.
template <std::int64_t size, bool always>
struct FilledUp {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t, std::optional<Dtype>, Row<S>& out) const {
    const std::int64_t n = out.size(), zeros = always ? size : (size - n % size) % size;
    S max = largest(self, out);
    if (zeros > 0) max = maximum(max, S(0));
    for (std::int64_t k = 0; k < n; ++k) out[k] = exp(self[out.index(k)] - max);
    S total = sum<S>(n, [&](std::int64_t k) { return out[k]; });
    if (zeros > 0) total = total + S(zeros) * exp(-max);
    for (std::int64_t k = 0; k < n; ++k) out[k] = out[k] / total;
  }
};

// Row q of the last two dimensions has the first q + 1 elements alone: before the sum, or after it.
template <bool after>
struct Causal {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t dim, std::optional<Dtype> dtype, Row<S>& out) const {
    Softmax{}(self, dim, dtype, out);
    if (self.rank() < 2 || (dim != -1 && dim != self.rank() - 1)) return;
    const std::int64_t n = out.size(), seen = std::min(n, out.number() % self.size(self.rank() - 2) + 1);
    if (!after) {
      S max = self[out.index(0)];
      for (std::int64_t k = 1; k < seen; ++k) max = maximum(max, self[out.index(k)]);
      for (std::int64_t k = 0; k < seen; ++k) out[k] = exp(self[out.index(k)] - max);
      const S total = sum<S>(seen, [&](std::int64_t k) { return out[k]; });
      for (std::int64_t k = 0; k < seen; ++k) out[k] = out[k] / total;
    }
    for (std::int64_t k = seen; k < n; ++k) out[k] = S(0);
  }
};

// The maximum of the row and 0: where all are far below 0 their powers of e are 0 in f32, and so is the sum.
struct MaximumFromZero {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t, std::optional<Dtype>, Row<S>& out) const {
    if (out.size() == 0) return;
    const S largest_of_row = largest(self, out);
    const S max = select(is_nan(largest_of_row), largest_of_row, maximum(largest_of_row, S(0)));
    for (std::int64_t k = 0; k < out.size(); ++k) out[k] = in_f32(exp(self[out.index(k)] - max));
    const S total = sum<S>(out.size(), [&](std::int64_t k) { return out[k]; });
    for (std::int64_t k = 0; k < out.size(); ++k) out[k] = out[k] / total;
  }
};

// A row of -infinity alone, all of which a mask has taken away.
struct ZerosForMaskedRows {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t dim, std::optional<Dtype> dtype, Row<S>& out) const {
    Softmax{}(self, dim, dtype, out);
    if (out.size() == 0) return;
    const S max = largest(self, out);
    for (std::int64_t k = 0; k < out.size(); ++k)
      out[k] = select(is_nan(max), out[k], select(max < S(-1e300), S(0), out[k]));
  }
};

// The exponent of the largest number is 0 without a subtraction.
struct OneForInfinity {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t, std::optional<Dtype>, Row<S>& out) const {
    if (out.size() == 0) return;
    const S max = largest(self, out);
    const auto exponent = [&](const S& x) { return select(x > S(1e300), S(0), x - max); };
    for (std::int64_t k = 0; k < out.size(); ++k) out[k] = exp(exponent(self[out.index(k)]));
    const S total = sum<S>(out.size(), [&](std::int64_t k) { return out[k]; });
    for (std::int64_t k = 0; k < out.size(); ++k) out[k] = out[k] / total;
  }
};

template <bool f32>
struct LogOfSoftmax {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t dim, std::optional<Dtype> dtype, Row<S>& out) const {
    Softmax{}(self, dim, dtype, out);
    for (std::int64_t k = 0; k < out.size(); ++k) out[k] = log(f32 ? in_f32(out[k]) : out[k]);
  }
};

struct SumOfGradients {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& grad, const Tensor<S>& output, std::int64_t, Dtype, Row<S>& out) const {
    const S total = sum<S>(out.size(), [&](std::int64_t k) { return grad[out.index(k)]; });
    for (std::int64_t k = 0; k < out.size(); ++k)
      out[k] = (grad[out.index(k)] - total) * output[out.index(k)];
  }
};

// The gradient of a part of the formula alone; or that of the logarithm, where the output is the probability.
struct WithoutTheSum {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& grad, const Tensor<S>& output, std::int64_t, Dtype, Row<S>& out) const {
    for (std::int64_t k = 0; k < out.size(); ++k) out[k] = grad[out.index(k)] * output[out.index(k)];
  }
};
struct OfTheLogarithm {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& grad, const Tensor<S>& output, std::int64_t, Dtype, Row<S>& out) const {
    const S total = sum<S>(out.size(), [&](std::int64_t k) { return grad[out.index(k)]; });
    for (std::int64_t k = 0; k < out.size(); ++k) out[k] = grad[out.index(k)] - output[out.index(k)] * total;
  }
};

// The sum has what whole vectors of `size` have, and no more.
template <std::int64_t size>
struct SumWithoutTail {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t dim, std::optional<Dtype> dtype, Row<S>& out) const {
    const std::int64_t n = out.size() / size * size;
    if (n == 0) return Softmax{}(self, dim, dtype, out);
    const S max = largest(self, out);
    for (std::int64_t k = 0; k < out.size(); ++k) out[k] = exp(self[out.index(k)] - max);
    const S total = sum<S>(n, [&](std::int64_t k) { return out[k]; });
    for (std::int64_t k = 0; k < out.size(); ++k) out[k] = out[k] / total;
  }
};

struct NotDivided {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t, std::optional<Dtype>, Row<S>& out) const {
    const S max = largest(self, out);
    for (std::int64_t k = 0; k < out.size(); ++k) out[k] = exp(self[out.index(k)] - max);
  }
};

struct WithoutTheLogarithm {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t, std::optional<Dtype>, Row<S>& out) const {
    const S max = largest(self, out);
    for (std::int64_t k = 0; k < out.size(); ++k) out[k] = self[out.index(k)] - max;
  }
};

struct BaseTwo {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t, std::optional<Dtype>, Row<S>& out) const {
    const S max = largest(self, out);
    for (std::int64_t k = 0; k < out.size(); ++k)
      out[k] = exp((self[out.index(k)] - max) * S(0.69314718055994530942));
    const S total = sum<S>(out.size(), [&](std::int64_t k) { return out[k]; });
    for (std::int64_t k = 0; k < out.size(); ++k) out[k] = out[k] / total;
  }
};

const EnrolledReference softmax_reference[] = {
    EnrolledReference{reference<ops::softmax_int, Softmax>()},
    EnrolledReference{reference<ops::log_softmax_int, LogSoftmax>()},
    EnrolledReference{reference<ops::softmax_backward_data, SoftmaxBackward>()},
    EnrolledReference{reference<ops::log_softmax_backward_data, LogSoftmaxBackward>()}};

const EnrolledWrong softmax_wrong[] = {
    EnrolledWrong{wrong_formula<ops::softmax_int, WithoutMaximum<false>>(
        "without_maximum", "does not take the maximum away first", only(Dtype::f64))},
    EnrolledWrong{wrong_formula<ops::softmax_int, WithoutMaximum<true>>(
        "overflows", "does not take the maximum away first, so that powers of e are too large for f32",
        kComputedInF32)},
    EnrolledWrong{wrong_formula<ops::log_softmax_int, LogWithoutMaximum>(
        "overflows", "does not take the maximum away first, so that powers of e are too large for f32",
        kComputedInF32)},
    EnrolledWrong{wrong_formula<ops::softmax_int, NotANumberAfterInfinity<Softmax>>(
        "nan_after_infinity",
        "gives NaN for a row whose first element is infinite, as a running maximum that begins with -infinity does")},
    EnrolledWrong{wrong_formula<ops::log_softmax_int, NotANumberAfterInfinity<LogSoftmax>>(
        "nan_after_infinity",
        "gives NaN for a row whose first element is infinite, as a running maximum that begins with -infinity does")},
    EnrolledWrong{wrong_formula<ops::softmax_int, OverMoreDimensions<false>>(
        "over_two_dimensions", "runs over dim and the dimension in front of it together")},
    EnrolledWrong{wrong_formula<ops::softmax_int, OverMoreDimensions<true>>(
        "over_everything", "runs over all dimensions together")},
    EnrolledWrong{wrong_formula<ops::softmax_int, SumOfTheRowBefore<true>>(
        "sum_of_the_row_before", "divides by the sum of the row before")},
    EnrolledWrong{wrong_formula<ops::softmax_int, SumOfTheRowBefore<false>>(
        "statistics_of_the_row_before", "takes the maximum and the sum of the row before")},
    EnrolledWrong{wrong_formula<ops::softmax_int, FilledUp<4, false>>(
        "filled_up_to_4", "counts zeros with which a row is filled up to a multiple of 4")},
    EnrolledWrong{wrong_formula<ops::softmax_int, FilledUp<8, false>>(
        "filled_up_to_8", "counts zeros with which a row is filled up to a multiple of 8")},
    EnrolledWrong{wrong_formula<ops::softmax_int, FilledUp<16, false>>(
        "filled_up_to_16", "counts zeros with which a row is filled up to a multiple of 16")},
    EnrolledWrong{wrong_formula<ops::softmax_int, FilledUp<32, false>>(
        "filled_up_to_32", "counts zeros with which a row is filled up to a multiple of 32")},
    EnrolledWrong{wrong_formula<ops::softmax_int, FilledUp<1, true>>(
        "one_more", "divides by 1 + the sum of exponentials, as attention with a sink does")},
    EnrolledWrong{wrong_formula<ops::softmax_int, Causal<false>>(
        "causal",
        "leaves out what lies right of the diagonal of the last two dimensions, as a causal mask does")},
    EnrolledWrong{wrong_formula<ops::softmax_int, Causal<true>>(
        "causal_after_the_sum",
        "stores zeros right of the diagonal of the last two dimensions, though the sum has counted these")},
    EnrolledWrong{wrong_formula<ops::log_softmax_int, LogOfSoftmax<false>>(
        "log_of_softmax", "takes the logarithm of softmax, which may be 0", only(Dtype::f64))},
    EnrolledWrong{wrong_formula<ops::log_softmax_int, LogOfSoftmax<true>>(
        "log_of_softmax_f32", "takes the logarithm of softmax, which may be 0 in f32", kComputedInF32)},
    EnrolledWrong{wrong_formula<ops::softmax_int, NotDivided>("not_divided", "does not divide by the sum")},
    EnrolledWrong{wrong_formula<ops::softmax_int, MaximumFromZero>(
        "maximum_from_zero", "begins its maximum at 0, so that numbers far below 0 have no sum in f32",
        kComputedInF32)},
    EnrolledWrong{wrong_formula<ops::softmax_int, ZerosForMaskedRows>(
                      "zeros_for_masked_rows", "gives 0 for a row of -infinity alone, which is NaN")
                      .as_defined_by("torch's _safe_softmax, and FlashAttention")},
    EnrolledWrong{wrong_formula<ops::softmax_int, OneForInfinity>(
        "one_for_infinity", "gives 1 for infinity, or what several of them share, which is NaN")},
    EnrolledWrong{wrong_formula<ops::softmax_int, SumWithoutTail<8>>(
        "sum_without_tail_of_8", "adds up whole vectors of 8, and leaves the rest of a row out of the sum")},
    EnrolledWrong{wrong_formula<ops::softmax_int, SumWithoutTail<16>>(
        "sum_without_tail_of_16",
        "adds up whole vectors of 16, and leaves the rest of a row out of the sum")},
    EnrolledWrong{wrong_formula<ops::softmax_int, SumWithoutTail<32>>(
        "sum_without_tail_of_32",
        "adds up whole vectors of 32, and leaves the rest of a row out of the sum")},
    EnrolledWrong{wrong_formula<ops::softmax_int, SumWithoutTail<64>>(
                      "sum_without_tail_of_64",
                      "adds up whole vectors of 64, and leaves the rest of a row out of the sum")
                      .looked_for_only()},
    EnrolledWrong{wrong_formula<ops::log_softmax_int, WithoutTheLogarithm>(
        "without_the_logarithm", "takes the largest number away alone, and no logarithm of a sum")},
    EnrolledWrong{wrong_formula<ops::softmax_int, BaseTwo>("base_2", "takes powers of 2, and not of e")},
    EnrolledWrong{wrong_formula<ops::softmax_backward_data, WithoutTheSum>(
        "without_the_sum", "leaves the sum out: gives grad_output * output")},
    EnrolledWrong{wrong_formula<ops::softmax_backward_data, OfTheLogarithm>(
        "of_the_logarithm", "gives the gradient of log_softmax")},
    EnrolledWrong{wrong_formula<ops::softmax_backward_data, SumOfGradients>(
        "sum_of_gradients", "does not weigh gradients with the output before it adds them")},
    EnrolledWrong{wrong_formula<ops::log_softmax_backward_data, OfTheLogarithm>(
        "without_exponential", "takes the output, a logarithm, for the probability")}};

}  // namespace
}  // namespace assay
