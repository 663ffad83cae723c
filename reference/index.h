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
  // The next one in row-major order; after the last one the coordinates are zero again.
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

// How a result falls into rows, elements that share work: its elements, in row-major order, are numbered
//   (outer * size + place) * inner + i
// and (outer, i) is the row.
struct RowShape {
  std::int64_t outer = 1, size = 1, inner = 1;
  int dimension = -1;  // along which the row runs, if it is one

  using Shape = std::span<const std::int64_t>;
  // Along one dimension, which may count from the end; a result without dimensions is one row of one.
  static RowShape along(Shape shape, std::int64_t dimension) {
    RowShape r;
    if (shape.empty()) return r;
    r.dimension =
        static_cast<int>(dimension < 0 ? dimension + static_cast<std::int64_t>(shape.size()) : dimension);
    const Fibers f(shape, r.dimension);
    r.outer = f.outer;
    r.size = f.size;
    r.inner = f.inner;
    return r;
  }
  // Neighbours, in rows of `size`.
  static RowShape blocks(Shape shape, std::int64_t size) {
    RowShape r;
    r.size = size;
    for (const std::int64_t n : shape) r.outer *= n;
    r.outer = size == 0 ? 0 : r.outer / size;
    return r;
  }

  std::int64_t rows() const { return outer * inner; }
  std::int64_t element(std::int64_t row, std::int64_t place) const {
    return (row / inner * size + place) * inner + row % inner;
  }
  std::int64_t row_of(std::int64_t element) const {
    return element / (inner * size) * inner + element % inner;
  }
  std::int64_t place_of(std::int64_t element) const { return element / inner % size; }
};

}  // namespace assay
