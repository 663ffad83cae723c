// The position of an element: its coordinates, and its number in row-major order.
#pragma once

#include <cstdint>
#include <span>

namespace assay {

inline constexpr int kMaxRank = 64;  // torch's own limit

class Index {
 public:
  // Shapes are borrowed: they must outlive the index.
  Index(std::span<const std::int64_t> shape, std::int64_t number) : shape_(shape) { go_to(number); }

  int rank() const { return static_cast<int>(shape_.size()); }
  std::int64_t operator[](int dimension) const { return coordinates_[dimension]; }
  std::int64_t number() const { return number_; }
  std::span<const std::int64_t> shape() const { return shape_; }

  void go_to(std::int64_t number) {
    number_ = number;
    for (int d = rank() - 1; d >= 0; --d) {
      const std::int64_t size = shape_[static_cast<std::size_t>(d)];
      coordinates_[d] =
          number == 0 ? 0 : number % size;  // sizes may be zero where nothing but 0 is asked for
      if (number != 0) number /= size;
    }
  }
  // The next one in row-major order; behind the last one the coordinates are zero again.
  void step() {
    ++number_;
    for (int d = rank() - 1; d >= 0; --d) {
      if (++coordinates_[d] < shape_[static_cast<std::size_t>(d)]) return;
      coordinates_[d] = 0;
    }
  }
  // Along one dimension whose stride, in elements, is known.
  void move(int dimension, std::int64_t coordinate, std::int64_t stride) {
    number_ += (coordinate - coordinates_[dimension]) * stride;
    coordinates_[dimension] = coordinate;
  }

 private:
  std::span<const std::int64_t> shape_;
  std::int64_t number_ = 0;
  std::int64_t coordinates_[kMaxRank];  // the first rank() are set
};

// A shape seen along one dimension: element (o, k, i) is number (o * size + k) * inner + i.
struct Fibers {
  std::int64_t outer = 1, size = 1, inner = 1;

  Fibers(std::span<const std::int64_t> shape, int dimension) {
    for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
      const std::int64_t n = shape[static_cast<std::size_t>(d)];
      (d < dimension ? outer : d == dimension ? size : inner) *= n;
    }
  }
};

}  // namespace assay
