// Softmax along one dimension, its logarithm, and their gradients.
//
// The idea: the textbook's three passes over a row (rows.h), its maximum, exp(x - maximum) and their sum, the
// quotients; the work is in exp (elementary.h). NaN and infinities need no care: a NaN or +inf makes the sum
// NaN, a row of -inf is -inf - -inf = NaN, and -inf beside finite numbers is exp(-inf) = 0, whatever the maximum
// does with a NaN. The logarithm takes the maximum away first, (x - maximum) - log(sum): maximum + log(sum) would
// lose the logarithm beside a large maximum. The gradients need no maximum.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/softmax.cpp"
#include "levels.h"

#include "elementary_log.h"
#include "ops/softmax.h"
#include "rows.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct Same {
  // A sum of nothing but -0 is -0, or 0 where a vector's idle lanes took part: 0 in any layout.
  template <class D, class V>
  HWY_INLINE V of_total(D d, V total) const {
    return hn::Add(total, hn::Zero(d));
  }
};

struct Softmax : Same {
  static constexpr std::size_t inputs = 1;
  static constexpr bool wants_maximum = true, keeps_terms = true;
  template <class D, class V>
  HWY_INLINE V term(D d, V maximum, V x) const {
    return exp<true>(d, hn::Sub(x, maximum));
  }
  template <class D, class V>
  HWY_INLINE V result(D, V /*maximum*/, V total, V term) const {
    return hn::Div(term, total);
  }
};

struct LogSoftmax {
  static constexpr std::size_t inputs = 1;
  static constexpr bool wants_maximum = true, keeps_terms = false;
  template <class D, class V>
  HWY_INLINE V term(D d, V maximum, V x) const {
    return exp<true>(d, hn::Sub(x, maximum));
  }
  template <class D, class V>
  HWY_INLINE V of_total(D d, V total) const {
    return log(d, total);
  }
  template <class D, class V>
  HWY_INLINE V result(D, V maximum, V log_total, V x) const {
    return hn::Sub(hn::Sub(x, maximum), log_total);
  }
};

struct SoftmaxBackward : Same {
  static constexpr bool cheap_terms = true;
  static constexpr std::size_t inputs = 2;
  static constexpr bool wants_maximum = false, keeps_terms = false;
  template <class D, class V>
  HWY_INLINE V term(D, V /*maximum*/, V grad, V output) const {
    return hn::Mul(grad, output);
  }
  template <class D, class V>
  HWY_INLINE V result(D, V /*maximum*/, V total, V grad, V output) const {
    return hn::Mul(hn::Sub(grad, total), output);
  }
};

struct LogSoftmaxBackward : Same {
  static constexpr bool cheap_terms = true;
  static constexpr std::size_t inputs = 2;
  static constexpr bool wants_maximum = false, keeps_terms = false;
  template <class D, class V>
  HWY_INLINE V term(D, V /*maximum*/, V grad, V /*output*/) const {
    return grad;
  }
  template <class D, class V>
  HWY_INLINE V result(D d, V /*maximum*/, V total, V grad, V output) const {
    return hn::NegMulAdd(exp(d, output), total, grad);
  }
};

void softmax(const View& self, std::int64_t dim, std::optional<Dtype>, View& out) {
  along_rows(Softmax{}, out, dim, self);
}
void log_softmax(const View& self, std::int64_t dim, std::optional<Dtype>, View& out) {
  along_rows(LogSoftmax{}, out, dim, self);
}
void softmax_backward(const View& grad, const View& output, std::int64_t dim, Dtype, View& out) {
  along_rows(SoftmaxBackward{}, out, dim, grad, output);
}
void log_softmax_backward(const View& grad, const View& output, std::int64_t dim, Dtype, View& out) {
  along_rows(LogSoftmaxBackward{}, out, dim, grad, output);
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr const char* kExp = ASSAY_CPU_EXP "\n" ASSAY_CPU_CHAINS;
constexpr const char* kExpAndLog = ASSAY_CPU_EXP "\n" ASSAY_CPU_LOG "\n" ASSAY_CPU_CHAINS;
constexpr const char* kSums = ASSAY_CPU_CHAINS;
constexpr assay_kernel kernels[] = {
    ASSAY_CPU_LEVELS(ops::softmax_int, softmax, kExp),
    ASSAY_CPU_LEVELS(ops::log_softmax_int, log_softmax, kExpAndLog),
    ASSAY_CPU_LEVELS(ops::softmax_backward_data, softmax_backward, kSums),
    ASSAY_CPU_LEVELS(ops::log_softmax_backward_data, log_softmax_backward, kExp)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
