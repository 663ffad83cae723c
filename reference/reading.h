// Reading a reference with a scalar: its arguments as tensors of that scalar, one element or one row at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <tuple>
#include <vector>

#include "inputs.h"
#include "once.h"
#include "scalars/adversary.h"
#include "scalars/counted.h"
#include "scalars/dual.h"
#include "scalars/integer.h"
#include "scalars/real.h"
#include "scalars/tracked.h"
#include "tensor.h"

namespace assay {

// Every scalar that references are instantiated with; Integer only for operators that are computed in integers.
template <template <class> class Of>
using ForScalars = std::tuple<Of<double>, Of<Real>, Of<Tracked<double>>, Of<Tracked<Real>>, Of<Dual>,
                              Of<Adversary<double>>, Of<Adversary<Real>>, Of<Integer>, Of<Counted>>;

// Where a tensor argument's elements are, if not in its own Inputs.
template <class S>
struct Given {
  const Decoded* decoded = nullptr;
  const double* tangent = nullptr;
  const Source<S>* computed = nullptr;  // for what is not decoded
};

// The arguments of one call, read with S, for the result of shape `out`.
template <class S>
struct Arguments {
  const Inputs* inputs = nullptr;
  std::vector<std::vector<Tensor<S>>> tensors;  // by argument, as Inputs::tensors
};

// A row of results that share work.
template <class S>
class Row {
 public:
  Row(S* results, std::span<const std::int64_t> shape, const RowShape& rows, std::int64_t row)
      : results_(results), rows_(rows), row_(row), index_(shape, rows.element(row, 0)) {}

  std::int64_t size() const { return rows_.size; }
  std::int64_t number() const { return row_; }  // of the row
  S& operator[](std::int64_t k) { return results_[k]; }
  // Where result k lies: the index into a tensor of the result's shape. Valid until the next call.
  const Index& index(std::int64_t k) {
    stop_point_at(k);
    if (rows_.dimension >= 0) {
      index_.move(rows_.dimension, k, rows_.inner);
    } else if (const std::int64_t element = rows_.element(row_, k); element == index_.number() + 1) {
      index_.step();
    } else if (element != index_.number()) {
      index_.go_to(element);
    }
    return index_;
  }

 private:
  S* results_;
  const RowShape& rows_;
  std::int64_t row_;
  Index index_;
};

// `count` results from an index on, in row-major order, or one row of results.
template <class S>
using Elements = void (*)(const Arguments<S>&, Index& first, std::int64_t count, S* results);
template <class S>
using RowOf = void (*)(const Arguments<S>&, Row<S>&);

// One result of an operator. Either form is null.
template <class S>
struct Body {
  Elements<S> elements = nullptr;
  RowOf<S> row = nullptr;
};
struct ResultFunctions {
  ForScalars<Body> bodies;
  bool on_the_way = false;  // to the first result, which it has the work of
  RowShape (*rows)(const Inputs&,
                   std::span<const std::int64_t> shape) = nullptr;  // of a result that has rows
};

template <class S>
class Reader {
 public:
  // `given`: of tensor `k` of argument `i`, where its elements are. The reader of a graph's node has one.
  using GivenTensor = std::function<Given<S>(std::size_t i, std::size_t k)>;
  Reader(const Inputs& inputs, std::span<const ResultFunctions> functions, GivenTensor given = {});

  S read(int output, std::int64_t element);
  // Elements with the same number share work, which is kept until another number is asked for.
  std::int64_t row(int output, std::int64_t element) const;
  void read_all(int output, std::span<S> results);
  // Scalars with random numbers have others for each stream.
  void set_stream(int stream) { stream_ = stream; }
  // Drops what is kept: what readings depend on has changed.
  void forget() {
    kept_.clear();
    once_.forget();
  }
  // One number for each element of tensor argument i, or empty; lists of tensors do not move. Borrowed.
  void set_direction(std::span<const std::vector<double>> direction);

 private:
  // Elements are asked for in row-major order, which meets the same few rows again and again unless rows are blocks.
  struct Kept {
    int output = -1;
    std::int64_t row = -1;
    bool nonfinite = false;  // read_nonfinite() after it
    std::vector<S> results;
  };
  static constexpr std::int64_t kMostKept = 1 << 16;  // results

  const Arguments<S>& arguments(int output);
  std::span<const std::int64_t> shape(int output) const {
    return inputs_.outputs()[static_cast<std::size_t>(output)].shape;
  }
  // The first result that is computed in the same dtype as this one.
  int computed_like(int output) const;
  void read_row(int output, const RowShape& rows, std::int64_t row, S* results);

  const Inputs& inputs_;
  std::span<const ResultFunctions> functions_;
  std::span<const std::vector<double>> direction_;
  GivenTensor given_;
  int stream_ = 0;
  std::vector<Arguments<S>> arguments_;  // by output, made when first asked for
  std::vector<Kept> kept_;
  Once once_;
};

}  // namespace assay
