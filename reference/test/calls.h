// Calls for tests: tensors with data of their own, and an Evaluation of them.
#pragma once

#include <deque>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "check.h"
#include "memory_format.h"
#include "operators.h"
#include "reference.h"

namespace assay::testing {

class Call {
 public:
  explicit Call(std::string_view op) : op_(operator_named(op)), reference_(*find_reference(op)) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Without arguments, as at first.
  void clear() {
    arguments_.clear();
    tensors_.clear();
    lists_.clear();
    strings_.clear();
    evaluation_.reset();
  }
  // Elements in row-major order, each stored with one rounding; in memory they lie as the strides say, if given.
  Call& tensor(Dtype dtype, Shape shape, const std::vector<double>& elements,
               std::vector<std::int64_t> strides = {}) {
    Tensor& t = tensors_.emplace_back();
    t.shape = std::move(shape);
    std::int64_t numel = 1;
    t.strides.resize(t.shape.size());
    for (std::size_t d = t.shape.size(); d-- > 0;) {
      t.strides[d] = numel;
      numel *= t.shape[d];
    }
    if (!strides.empty()) t.strides = std::move(strides);
    std::int64_t span = 1;
    for (std::size_t d = 0; d < t.shape.size(); ++d) span += (t.shape[d] - 1) * t.strides[d];
    t.memory.resize(static_cast<std::size_t>(numel == 0 ? 0 : span * bytes(dtype)));
    for (std::int64_t n = 0; n < numel; ++n) {
      std::int64_t at = 0, rest = n;
      for (std::size_t d = t.shape.size(); d-- > 0; rest /= t.shape[d])
        at += rest % t.shape[d] * t.strides[d];
      store(t.memory.data() + at * bytes(dtype), dtype, elements.at(static_cast<std::size_t>(n)));
    }
    t.view = {t.memory.data(),
              {ASSAY_CPU, 0},
              static_cast<std::int32_t>(t.shape.size()),
              info(dtype).dlpack,
              t.shape.data(),
              t.strides.data(),
              0};
    assay_value v{ASSAY_KIND_TENSOR, 1, {}};
    v.as.tensor = &t.view;
    arguments_.push_back(v);
    return *this;
  }
  Call& integer(std::int64_t x) {
    assay_value v{ASSAY_KIND_INT, 1, {}};
    v.as.integer = x;
    arguments_.push_back(v);
    return *this;
  }
  Call& real(double x) {
    assay_value v{ASSAY_KIND_DOUBLE, 1, {}};
    v.as.real = x;
    arguments_.push_back(v);
    return *this;
  }
  Call& string(std::string_view s) {
    assay_value v{ASSAY_KIND_STRING, 1, {}};
    v.as.string = strings_.emplace_back(s).c_str();
    arguments_.push_back(v);
    return *this;
  }
  Call& memory_format(MemoryFormat f) {
    arguments_.push_back({ASSAY_KIND_MEMORY_FORMAT, 1, {}});
    arguments_.back().as.integer = static_cast<std::int64_t>(f);
    return *this;
  }
  Call& boolean(bool x) {
    arguments_.push_back({ASSAY_KIND_BOOL, 1, {}});
    arguments_.back().as.integer = x ? 1 : 0;
    return *this;
  }
  Call& integers(std::vector<std::int64_t> list) { return add_list(ASSAY_KIND_INTS, std::move(list)); }
  Call& booleans(std::vector<std::int64_t> list) { return add_list(ASSAY_KIND_BOOLS, std::move(list)); }
  Call& none() {
    arguments_.push_back({ASSAY_KIND_NONE, 1, {}});
    return *this;
  }
  Call& dtype(Dtype d) {
    assay_value v{ASSAY_KIND_DTYPE, 1, {}};
    v.as.dtype = info(d).dlpack;
    arguments_.push_back(v);
    return *this;
  }

  // The argument is this tensor instead.
  void replace(std::size_t argument, Dtype dtype, Shape shape, const std::vector<double>& elements) {
    tensor(dtype, std::move(shape), elements);
    arguments_[argument] = arguments_.back();
    arguments_.pop_back();
  }

  std::span<const assay_value> arguments() const { return arguments_; }

  // Other elements for a tensor without gaps, each stored with one rounding; evaluate() reads them.
  void overwrite(std::size_t argument, const std::vector<double>& elements) {
    const assay_tensor& t = *arguments_[argument].as.tensor;
    const Dtype dtype = *dtype_of(t.dtype);
    for (std::size_t n = 0; n < elements.size(); ++n)
      store(static_cast<std::byte*>(t.data) + n * static_cast<std::size_t>(bytes(dtype)), dtype, elements[n]);
  }

  Evaluation& evaluate() {
    const Checked checked = check_arguments(op_, arguments_);
    if (!checked.ok()) throw std::invalid_argument(checked.error);
    outputs_ = checked.outputs;
    evaluation_ = reference_.evaluate(arguments_, outputs_);
    return *evaluation_;
  }
  // Valid after evaluate().
  const std::vector<Checked::Output>& outputs() const { return outputs_; }
  std::int64_t numel(int output = 0) const {
    std::int64_t n = 1;
    for (const std::int64_t size : outputs_[static_cast<std::size_t>(output)].shape) n *= size;
    return n;
  }
  std::vector<double> values(int output = 0) {
    std::vector<double> v(static_cast<std::size_t>(numel(output)));
    evaluation_->values(output, v);
    return v;
  }

 private:
  Call& add_list(std::uint32_t kind, std::vector<std::int64_t> list) {
    lists_.push_back(std::move(list));
    assay_value v{kind, static_cast<std::uint32_t>(lists_.back().size()), {}};
    v.as.integers = lists_.back().data();
    arguments_.push_back(v);
    return *this;
  }

  struct Tensor {
    Shape shape;
    std::vector<std::int64_t> strides;
    std::vector<std::byte> memory;
    assay_tensor view;
  };
  const Operator& op_;
  const Reference& reference_;
  std::deque<Tensor> tensors_;
  std::deque<std::string> strings_;
  std::deque<std::vector<std::int64_t>> lists_;
  std::vector<assay_value> arguments_;
  std::vector<Checked::Output> outputs_;
  std::unique_ptr<Evaluation> evaluation_;
};

}  // namespace assay::testing
