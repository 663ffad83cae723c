#include "ops/softmax.h"

#include <algorithm>

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

struct WithoutMaximum {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t, std::optional<Dtype>, Row<S>& out) const {
    for (std::int64_t k = 0; k < out.size(); ++k) out[k] = exp(self[out.index(k)]);
    const S total = sum<S>(out.size(), [&](std::int64_t k) { return out[k]; });
    for (std::int64_t k = 0; k < out.size(); ++k) out[k] = out[k] / total;
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

struct LogOfSoftmax {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& self, std::int64_t dim, std::optional<Dtype> dtype, Row<S>& out) const {
    Softmax{}(self, dim, dtype, out);
    for (std::int64_t k = 0; k < out.size(); ++k) out[k] = log(out[k]);
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

struct WithoutExponential {
  static constexpr std::string_view row = "dim";

  template <class S>
  void operator()(const Tensor<S>& grad, const Tensor<S>& output, std::int64_t, Dtype, Row<S>& out) const {
    const S total = sum<S>(out.size(), [&](std::int64_t k) { return grad[out.index(k)]; });
    for (std::int64_t k = 0; k < out.size(); ++k) out[k] = grad[out.index(k)] - output[out.index(k)] * total;
  }
};

const EnrolledReference softmax_reference[] = {
    EnrolledReference{reference<ops::softmax_int, Softmax>()},
    EnrolledReference{reference<ops::log_softmax_int, LogSoftmax>()},
    EnrolledReference{reference<ops::softmax_backward_data, SoftmaxBackward>()},
    EnrolledReference{reference<ops::log_softmax_backward_data, LogSoftmaxBackward>()}};

const EnrolledWrong softmax_wrong[] = {
    EnrolledWrong{wrong_formula<ops::softmax_int, WithoutMaximum>("without_maximum",
                                                                  "does not take the maximum away first")},
    EnrolledWrong{wrong_formula<ops::softmax_int, OverMoreDimensions<false>>(
        "over_two_dimensions", "runs over dim and the dimension in front of it together")},
    EnrolledWrong{wrong_formula<ops::softmax_int, OverMoreDimensions<true>>(
        "over_everything", "runs over all dimensions together")},
    EnrolledWrong{wrong_formula<ops::log_softmax_int, LogOfSoftmax>(
        "log_of_softmax", "takes the logarithm of softmax, which may be 0")},
    EnrolledWrong{wrong_formula<ops::softmax_backward_data, SumOfGradients>(
        "sum_of_gradients", "does not weigh gradients with the output before it adds them")},
    EnrolledWrong{wrong_formula<ops::log_softmax_backward_data, WithoutExponential>(
        "without_exponential", "takes the output, a logarithm, for the probability")}};

}  // namespace
}  // namespace assay
