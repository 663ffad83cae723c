// Some numbers of a tensor, by which it is told from others of as many elements.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "../model/call.h"

namespace assay {

class Samples {
 public:
  explicit Samples(const TensorData& t);

  // The share of numbers that are nearly the same at the same places, zeros on both sides left out; nothing if hardly one is left.
  // Precondition: as many elements.
  std::optional<double> alike(const Samples& other) const;
  // The same for tensors of which one has its channels at the end; nothing if the shapes are not so.
  std::optional<double> alike_moved(const Samples& other) const;  // of images

  std::int64_t numel() const { return numel_; }
  const Shape& shape() const { return shape_; }
  bool is_float() const { return is_float_; }

 private:
  static std::optional<double> share(const std::vector<double>& a, const std::vector<double>& b);

  Shape shape_;
  std::int64_t numel_;
  bool is_float_;
  std::vector<double> plain_, first_;  // as they lie; as they lie with the channels, which are at the end, at their place
};

// A matrix with its dimensions exchanged.
TensorData turned_around(const TensorData& matrix);

}  // namespace assay
