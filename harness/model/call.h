// One call with its data: what a case becomes when its tensors are filled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "vocabulary/case.h"
#include "vocabulary/check.h"
#include "vocabulary/view.h"

namespace assay {

// A tensor that owns its memory: `memory` holds strided.offset + strided.span elements, gaps between strides included.
struct TensorData {
  Dtype dtype = Dtype::f32;
  Shape shape;
  Strided strided;
  std::vector<std::byte> memory;

  TensorData() = default;
  TensorData(Dtype dtype, Shape shape, const Layout& layout = {});  // zero-filled

  std::int64_t numel() const;
  std::byte* element(std::int64_t index);  // row-major index; memory + offset + strides
  const std::byte* element(std::int64_t index) const;
  double get(std::int64_t index) const { return load(element(index), dtype); }
  void set(std::int64_t index, double value) { store(element(index), dtype, value); }
  std::vector<std::byte> packed() const;  // the elements in row-major order without gaps
  bool in_order() const;                  // they lie so in memory, too

  // Calls f(first, numbers) for all elements in row-major order, some thousand at a time: of large tensors ten times as fast as get().
  void each_block(const std::function<void(std::int64_t first, std::span<const double>)>& f) const;
  // f changes numbers, and says whether it has; these are stored. Whether any element holds another number now: 0 is -0, and NaN is NaN.
  bool change_blocks(const std::function<bool(std::int64_t first, std::span<double>)>& f);
};

// The elements in row-major order without gaps.
TensorData packed_copy(const TensorData& t);
// The same numbers as another dtype, if each of them is one of it; else `misfit` becomes the first that is not.
std::optional<TensorData> exactly_as(const TensorData& t, Dtype dtype, std::int64_t* misfit = nullptr);
bool same_bits(const TensorData& a, const TensorData& b);

using CallValue = std::variant<None, TensorData, std::int64_t, double, bool, std::string, Dtype, MemoryFormat,
                               std::vector<std::int64_t>, std::vector<double>, std::vector<TensorData>>;

struct Call {
  const Operator* op = nullptr;
  std::vector<CallValue> arguments;      // one for each schema argument
  std::vector<Checked::Output> outputs;  // empty if the arguments are not allowed: see `error`
  std::vector<Layout> output_layouts;    // one for each output
  std::string error;                     // what check_arguments said
  std::string blamed;                    // the argument it blamed
  int in_place = -1;                     // the tensor argument whose memory output 0 shares, or -1
};

// The C view of a call's arguments; pointers into `call`, valid while it lives and is not changed.
class Arguments {
 public:
  explicit Arguments(const Call& call);
  std::span<const assay_value> values() const { return values_; }

 private:
  std::vector<assay_value> values_;
  std::vector<std::unique_ptr<assay_tensor>> tensors_;
  std::vector<std::vector<const assay_tensor*>> lists_;
  std::vector<std::vector<std::int64_t>> integers_;
  std::vector<std::vector<double>> reals_;
};

}  // namespace assay
