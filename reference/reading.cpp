#include "reading.h"

#include <algorithm>
#include <stdexcept>

namespace assay {
namespace {

// Scalars with state beside their values have ScalarOps<S>::begin(output, number), called before each element or row.
template <class S>
void begin(int output, std::int64_t number) {
  if constexpr (requires { ScalarOps<S>::begin(output, number); }) ScalarOps<S>::begin(output, number);
}

}  // namespace

template <class S>
Reader<S>::Reader(const Inputs& inputs, std::span<const ResultFunctions> functions, GivenTensor given)
    : inputs_(inputs), functions_(functions), given_(std::move(given)) {}

template <class S>
void Reader<S>::set_direction(std::span<const std::vector<double>> direction) {
  direction_ = direction;
  arguments_.clear();
  forget();
}

template <class S>
const Arguments<S>& Reader<S>::arguments(int output) {
  arguments_.resize(inputs_.outputs().size());
  Arguments<S>& a = arguments_[static_cast<std::size_t>(output)];
  if (a.inputs != nullptr) return a;
  a.inputs = &inputs_;
  const Shape& shape = inputs_.outputs()[static_cast<std::size_t>(output)].shape;
  for (std::size_t i = 0; i < inputs_.count(); ++i) {
    a.tensors.emplace_back();
    if (given_) {
      for (std::size_t k = 0; k < inputs_.tensors(i).size(); ++k) {
        const Given<S> given = given_(i, k);
        a.tensors.back().emplace_back(*given.decoded, shape, given.tangent, given.computed);
      }
      continue;
    }
    const bool moves = i < direction_.size() && !direction_[i].empty() && inputs_.tensors(i).size() == 1;
    for (const Decoded& d : inputs_.tensors(i))
      a.tensors.back().emplace_back(d, shape, moves ? direction_[i].data() : nullptr);
  }
  return a;
}

template <class S>
int Reader<S>::computed_like(int output) const {
  const std::span<const Checked::Output> outputs = inputs_.outputs();
  const auto same = [&](const Checked::Output& o) {
    return o.computed_in == outputs[static_cast<std::size_t>(output)].computed_in;
  };
  return static_cast<int>(std::ranges::find_if(outputs, same) - outputs.begin());
}

template <class S>
void Reader<S>::read_row(int output, const RowShape& rows, std::int64_t row, S* results) {
  const auto& body = std::get<Body<S>>(functions_[static_cast<std::size_t>(output)].bodies);
  Row<S> r(results, shape(output), rows, row);
  begin<S>(output + stream_, row);
  body.row(arguments(output), r);
}

template <class S>
std::int64_t Reader<S>::row(int output, std::int64_t element) const {
  const ResultFunctions& functions = functions_[static_cast<std::size_t>(output)];
  return functions.rows == nullptr ? 0 : functions.rows(inputs_, shape(output)).row_of(element);
}

template <class S>
S Reader<S>::read(int output, std::int64_t element) {
  stop_point();
  const ResultFunctions& functions = functions_[static_cast<std::size_t>(output)];
  const auto& body = std::get<Body<S>>(functions.bodies);
  const OnceScope scope(once_, computed_like(output));
  if (body.elements != nullptr) {
    S result{};
    Index at(shape(output), element);
    begin<S>(output + stream_, element);
    body.elements(arguments(output), at, 1, &result);
    return result;
  }
  if (body.row == nullptr)
    throw std::logic_error("a formula is read in a scalar that it is not compiled for");
  const RowShape rows = functions.rows(inputs_, shape(output));
  const std::int64_t row = rows.row_of(element);
  const std::int64_t places = std::clamp<std::int64_t>(kMostKept / rows.size, 1, rows.inner);
  if (kept_.size() < static_cast<std::size_t>(places)) kept_.resize(static_cast<std::size_t>(places));
  Kept& kept = kept_[static_cast<std::size_t>(row % places)];
  if (kept.output != output || kept.row != row) {
    kept.output = -1;
    kept.results.assign(static_cast<std::size_t>(rows.size), S{});
    read_row(output, rows, row, kept.results.data());
    kept.output = output;
    kept.row = row;
    kept.nonfinite = read_nonfinite();
  }
  read_nonfinite() = kept.nonfinite;
  return kept.results[static_cast<std::size_t>(rows.place_of(element))];
}

template <class S>
void Reader<S>::read_all(int output, std::span<S> results) {
  if (results.empty()) return;
  const ResultFunctions& functions = functions_[static_cast<std::size_t>(output)];
  const auto& body = std::get<Body<S>>(functions.bodies);
  const OnceScope scope(once_, computed_like(output));
  if (body.elements != nullptr) {
    constexpr std::size_t kAtOnce = 1024;  // elements, each of which may be a long sum
    Index first(shape(output), 0);
    for (std::size_t k = 0; k < results.size(); k += kAtOnce) {
      stop_now();
      const std::span<S> some = results.subspan(k, std::min(kAtOnce, results.size() - k));
      body.elements(arguments(output), first, static_cast<std::int64_t>(some.size()), some.data());
    }
    return;
  }
  const RowShape rows = functions.rows(inputs_, shape(output));
  std::vector<S> one(static_cast<std::size_t>(rows.size));
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    stop_point();
    read_row(output, rows, row, one.data());
    for (std::int64_t k = 0; k < rows.size; ++k)
      results[static_cast<std::size_t>(rows.element(row, k))] = one[static_cast<std::size_t>(k)];
  }
}

template class Reader<double>;
template class Reader<Real>;
template class Reader<Tracked<double>>;
template class Reader<Tracked<Real>>;
template class Reader<Dual>;
template class Reader<Adversary<double>>;
template class Reader<Adversary<Real>>;
template class Reader<Integer>;
template class Reader<Counted>;

}  // namespace assay
