// The arguments of a call, written down.
#pragma once

#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "vocabulary/check.h"

namespace assay {

// Arguments without data, but where one is asked for.
class Given {
 public:
  // `data` is a single dimension without gaps.
  Given& tensor(Dtype d, Shape shape, void* data = nullptr) {
    shapes_.push_back(std::move(shape));
    Shape& s = shapes_.back();
    tensors_.push_back({data,
                        {ASSAY_CPU, 0},
                        static_cast<int>(s.size()),
                        info(d).dlpack,
                        s.data(),
                        data == nullptr ? s.data() : &one_,
                        0});
    assay_value v{ASSAY_KIND_TENSOR, 1, {}};
    v.as.tensor = &tensors_.back();
    values_.push_back(v);
    return *this;
  }
  Given& integer(std::int64_t i, std::uint32_t kind = ASSAY_KIND_INT) {
    assay_value v{kind, 1, {}};
    v.as.integer = i;
    values_.push_back(v);
    return *this;
  }
  Given& string(const char* s) {
    assay_value v{ASSAY_KIND_STRING, 1, {}};
    v.as.string = s;
    values_.push_back(v);
    return *this;
  }
  Given& integers(std::vector<std::int64_t> list, std::uint32_t kind = ASSAY_KIND_INTS) {
    lists_.push_back(std::move(list));
    assay_value v{kind, static_cast<std::uint32_t>(lists_.back().size()), {}};
    v.as.integers = lists_.back().data();
    values_.push_back(v);
    return *this;
  }
  Given& boolean(bool b) {
    integer(b ? 1 : 0);
    values_.back().kind = ASSAY_KIND_BOOL;
    return *this;
  }
  Given& real(double x) {
    values_.push_back({ASSAY_KIND_DOUBLE, 1, {}});
    values_.back().as.real = x;
    return *this;
  }
  Given& none() {
    values_.push_back({ASSAY_KIND_NONE, 0, {}});
    return *this;
  }
  Given& dtype(Dtype d) {
    assay_value v{ASSAY_KIND_DTYPE, 1, {}};
    v.as.dtype = info(d).dlpack;
    values_.push_back(v);
    return *this;
  }
  std::span<const assay_value> values() const { return values_; }
  Checked check(const Operator& op) const { return check_arguments(op, values_); }

 private:
  std::int64_t one_ = 1;
  std::deque<Shape> shapes_;
  std::deque<assay_tensor> tensors_;
  std::deque<std::vector<std::int64_t>> lists_;
  std::vector<assay_value> values_;
};

}  // namespace assay
