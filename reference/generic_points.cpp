#include "generic_points.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <stdexcept>

#include "case.h"
#include "shape_rule.h"
#include "view.h"

namespace assay {
namespace {

constexpr int kCalls = 3;
constexpr std::int64_t kMostElements = 64;  // that are compared, of each result

// splitmix64, Steele, Lea and Flood 2014
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  // Between 0.1 and 5, of either sign, small ones as often as large ones.
  double number() {
    const double size = 0.1 * std::pow(50.0, static_cast<double>(next() >> 11) * 0x1p-53);
    return (next() >> 63) != 0 ? -size : size;
  }
  double positive() { return std::fabs(number()); }

 private:
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  std::uint64_t state_;
};

// A call of small tensors of different sizes.
class GenericCall {
 public:
  GenericCall(const Operator& op, const ShapeAlternative& alternative, std::uint64_t seed)
      : numbers_(seed) {
    dtype_ = op.dtypes.contains(Dtype::f64) ? Dtype::f64 : Dtype::f32;
    ShapeBinding binding;
    std::int64_t size = 2;
    for (const std::string& symbol : alternative.symbols()) binding.sizes[symbol] = size++;
    for (const std::string& run : alternative.runs()) {
      const bool window = alternative.window_in(run) != nullptr;
      binding.runs[run] = window ? Shape{2} : Shape{size++};
    }
    values_.resize(op.schema.argument_count);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const ShapePattern* pattern = alternative.pattern_of(i);
      const Argument& a = op.schema.argument_storage[i];
      if (a.is_tensor()) {
        tensor(i, pattern == nullptr || pattern->computed() ? Shape{} : instantiate(*pattern, binding));
      } else {
        number(i, a);
      }
    }
    for (const auto& [i, shape] : computed_shapes(op, values_)) tensor(static_cast<std::size_t>(i), shape);
    checked_ = check_arguments(op, values_);
  }
  GenericCall(const GenericCall&) = delete;
  GenericCall& operator=(const GenericCall&) = delete;

  bool is_allowed() const { return checked_.ok(); }
  bool is_allowed(const Operator& also) const {
    const Checked other = check_arguments(also, values_);
    return other.ok() &&
           std::ranges::equal(other.outputs, checked_.outputs, [](const auto& x, const auto& y) {
             return x.shape == y.shape && x.dtype == y.dtype;
           });
  }
  std::unique_ptr<Evaluation> evaluate(const Reference& r) const {
    return r.evaluate(values_, checked_.outputs);
  }
  const std::vector<Checked::Output>& outputs() const { return checked_.outputs; }

 private:
  struct Tensor {
    Shape shape, strides;
    std::vector<double> wide;
    std::vector<float> narrow;
    assay_tensor view;
  };
  void tensor(std::size_t i, Shape shape) {
    Tensor& t = tensors_.emplace_back();
    t.shape = std::move(shape);
    t.strides.resize(t.shape.size());
    std::int64_t n = 1;
    for (std::size_t d = t.shape.size(); d-- > 0; n *= t.shape[d]) t.strides[d] = n;
    for (std::int64_t k = 0; k < n; ++k) {
      t.wide.push_back(numbers_.number());
      t.narrow.push_back(static_cast<float>(t.wide.back()));
    }
    void* data =
        dtype_ == Dtype::f64 ? static_cast<void*>(t.wide.data()) : static_cast<void*>(t.narrow.data());
    t.view = {data,
              {ASSAY_CPU, 0},
              static_cast<std::int32_t>(t.shape.size()),
              info(dtype_).dlpack,
              t.shape.data(),
              t.strides.data(),
              0};
    values_[i] = {ASSAY_KIND_TENSOR, 1, {}};
    values_[i].as.tensor = &t.view;
  }
  void number(std::size_t i, const Argument& a) {
    assay_value& v = values_[i] = {ASSAY_KIND_NONE, 1, {}};
    if (!a.list && (a.type == Type::real || a.type == Type::scalar)) {
      v.kind = ASSAY_KIND_DOUBLE;
      v.as.real = numbers_.positive();
    } else if (!a.list && a.type == Type::integer) {
      v.kind = ASSAY_KIND_INT;
      v.as.integer = 1;
    } else if (!a.list && a.type == Type::boolean) {
      v.kind = ASSAY_KIND_BOOL;
      v.as.integer = 0;
    }
  }

  Numbers numbers_;
  Dtype dtype_ = Dtype::f64;
  std::vector<assay_value> values_;
  std::deque<Tensor> tensors_;
  Checked checked_;
};

bool agree(const GenericCall& call, const Reference& a, const Reference& b) {
  const std::unique_ptr<Evaluation> first = call.evaluate(a), second = call.evaluate(b);
  for (std::size_t k = 0; k < call.outputs().size(); ++k) {
    const std::int64_t n = std::min(numel(call.outputs()[k].shape), kMostElements);
    for (std::int64_t element = 0; element < n; ++element) {
      const double x = first->truth(static_cast<int>(k), element),
                   y = second->truth(static_cast<int>(k), element);
      if (std::isnan(x) != std::isnan(y) || (!std::isnan(x) && std::fabs(x - y) > 0x1p-51 * std::fabs(x)))
        return false;
    }
  }
  return true;
}

}  // namespace

GenericPoints compare_at_generic_points(const Reference& a, const Reference& b, const Operator& mutated) {
  int calls = 0, compared = 0;
  for (const ShapeAlternative& alternative : shape_rule(a.op()).alternatives)
    for (int k = 0; k < kCalls; ++k) {
      const GenericCall call(a.op(), alternative, static_cast<std::uint64_t>(k + 1));
      if (!call.is_allowed()) continue;
      ++calls;
      if (!call.is_allowed(mutated)) continue;
      ++compared;
      try {
        if (!agree(call, a, b)) return GenericPoints::differ;
      } catch (const std::logic_error&) {
        return GenericPoints::differ;  // a wrong formula of a node is read in some scalars only
      }
    }
  if (compared > 0) return GenericPoints::agree;
  return calls > 0 ? GenericPoints::other_shapes : GenericPoints::differ;
}

}  // namespace assay
