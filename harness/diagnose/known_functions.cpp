#include "known_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "function_tables.h"
#include "linear.h"
#include "rounding.h"
#include "vocabulary/stop.h"

namespace assay::diagnose {
namespace {

constexpr std::size_t kLeastDifferentResults = 6, kLookedFirst = 8;
constexpr double kNearFunction = 0x1p-16, kFarFromRight = 24;
constexpr std::int64_t kMostUnpacked = std::int64_t{1} << 24;  // of a tensor that is unpacked

// What a function gives at a row-major index of the result.
using FunctionValues = std::function<double(std::int64_t at)>;

struct FunctionCandidate {
  std::string says;
  FunctionValues at;
};

// A tensor's numbers in row-major order, and its name.
struct UnpackedTensor {
  std::string_view name;
  Shape shape;
  std::shared_ptr<const std::vector<double>> values;
};

std::int64_t size_of_shape(std::span<const std::int64_t> sizes) {
  std::int64_t n = 1;
  for (const std::int64_t s : sizes) n *= s;
  return n;
}

// The element that is broadcast_index to an index of the result, or nothing where the shapes do not allow that.
std::optional<std::function<std::int64_t(std::int64_t)>> broadcast_index(const Shape& from, const Shape& to) {
  if (from == to) return [](std::int64_t at) { return at; };
  if (from.size() > to.size()) return std::nullopt;
  const std::size_t missing = to.size() - from.size();
  for (std::size_t d = 0; d < from.size(); ++d)
    if (from[d] != 1 && from[d] != to[missing + d]) return std::nullopt;
  return [from, to, missing](std::int64_t at) {
    std::int64_t index = 0, stride = 1;
    for (std::size_t d = to.size(); d-- > 0; at /= to[d])
      if (d >= missing) {
        if (from[d - missing] != 1) index += at % to[d] * stride;
        stride *= from[d - missing];
      }
    return index;
  };
}

// The rows of a tensor along some dimensions: each is those elements that differ in these alone.
struct TensorRows {
  std::vector<std::int64_t> begins;   // of each row, in row-major order of the other dimensions
  std::vector<std::int64_t> offsets;  // of a row's elements from its beginning
  std::string along;                  // "dimension 1"
};

TensorRows tensor_rows(const Shape& shape, const std::vector<bool>& within) {
  TensorRows rows;
  std::vector<std::int64_t> strides(shape.size());
  for (std::int64_t stride = 1, d = static_cast<std::int64_t>(shape.size()); d-- > 0;) {
    strides[static_cast<std::size_t>(d)] = stride;
    stride *= shape[static_cast<std::size_t>(d)];
  }
  const auto all = [&](bool of) {
    std::vector<std::int64_t> at{0};
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (within[d] != of) continue;
      std::vector<std::int64_t> more;
      for (const std::int64_t begin : at)
        for (std::int64_t i = 0; i < shape[d]; ++i) more.push_back(begin + i * strides[d]);
      at = std::move(more);
    }
    return at;
  };
  rows.begins = all(false);
  rows.offsets = all(true);
  std::vector<std::size_t> dimensions;
  for (std::size_t d = 0; d < within.size(); ++d)
    if (within[d]) dimensions.push_back(d);
  rows.along = dimensions.size() == within.size() ? "all dimensions"
               : dimensions.size() == 1
                   ? fmt::format("dimension {}", dimensions[0])
                   : fmt::format("dimensions {} to {}", dimensions.front(), dimensions.back());
  return rows;
}

// The numbers of one row after the other, of which the last one is kept.
class RowReader {
 public:
  RowReader(UnpackedTensor tensor, TensorRows rows) : tensor_(std::move(tensor)), rows_(std::move(rows)) {}
  const std::vector<double>& row(std::size_t number) {
    if (number != kept_) {
      values_.clear();
      for (const std::int64_t offset : rows_.offsets)
        values_.push_back((*tensor_.values)[static_cast<std::size_t>(rows_.begins[number] + offset)]);
      kept_ = number;
    }
    return values_;
  }
  const TensorRows& rows() const { return rows_; }

 private:
  UnpackedTensor tensor_;
  TensorRows rows_;
  std::size_t kept_ = ~std::size_t{0};
  std::vector<double> values_;
};

// One call: what may have been computed in place of its first result.
class FunctionCandidates {
 public:
  explicit FunctionCandidates(Evidence& evidence)
      : evidence_(evidence), call_(evidence.call()), out_(call_.outputs[0].shape) {
    for (std::size_t i = 0; i < call_.arguments.size(); ++i) {
      const auto* const t = std::get_if<TensorData>(&call_.arguments[i]);
      if (t == nullptr || t->numel() < 1 || t->numel() > kMostUnpacked) continue;
      auto values = std::make_shared<std::vector<double>>();
      for (std::int64_t e = 0; e < t->numel(); ++e) values->push_back(t->get(e));
      tensors_.push_back({call_.op->schema.arguments()[i].name, t->shape, std::move(values)});
    }
  }

  std::vector<FunctionCandidate> all() {
    add_of_elements();
    add_of_pairs();
    for (const std::vector<bool>& within : dimensions()) add_of_rows(within);
    add_of_two_rows();
    return std::move(all_);
  }

 private:
  const CallValue* argument(std::string_view name) const {
    const int at = call_.op->schema.find(name);
    return at < 0 ? nullptr : &call_.arguments[static_cast<std::size_t>(at)];
  }
  const UnpackedTensor* tensor(std::string_view name) const {
    const auto at = std::ranges::find(tensors_, name, &UnpackedTensor::name);
    return at == tensors_.end() ? nullptr : &*at;
  }

  static std::string with_formula(std::string_view name, std::string_view formula) {
    return formula.empty() ? std::string(name) : fmt::format("{} ({})", name, formula);
  }

  void add_of_elements() {
    for (const UnpackedTensor& t : tensors_) {
      const auto from = broadcast_index(t.shape, out_);
      if (!from) continue;
      for (const ElementFunction& f : element_functions())
        all_.push_back({fmt::format("gives {}, of each x of {}", with_formula(f.name, f.formula), t.name),
                        [values = t.values, from = *from, f](std::int64_t at) {
                          return f.of((*values)[static_cast<std::size_t>(from(at))]);
                        }});
    }
  }

  void add_of_pairs() {
    for (const UnpackedTensor& a : tensors_)
      for (const UnpackedTensor& b : tensors_) {
        if (&a == &b) continue;
        const auto from_a = broadcast_index(a.shape, out_), from_b = broadcast_index(b.shape, out_);
        if (!from_a || !from_b) continue;
        for (const PairFunction& f : pair_functions())
          all_.push_back(
              {fmt::format("gives {}, of each x of {} and y of {}", with_formula(f.name, f.formula), a.name,
                           b.name),
               [x = a.values, y = b.values, from_a = *from_a, from_b = *from_b, f](std::int64_t at) {
                 return f.of((*x)[static_cast<std::size_t>(from_a(at))],
                             (*y)[static_cast<std::size_t>(from_b(at))]);
               }});
      }
  }

  // Those that the call names, or the last one, or all.
  std::vector<std::vector<bool>> dimensions() const {
    if (tensors_.empty()) return {};
    const std::size_t n = tensors_[0].shape.size();
    std::set<std::vector<bool>> found;
    const auto take = [&](const std::vector<std::int64_t>& named) {
      std::vector<bool> within(n, named.empty());
      for (const std::int64_t d : named) {
        const std::int64_t at = d < 0 ? d + static_cast<std::int64_t>(n) : d;
        if (at >= 0 && at < static_cast<std::int64_t>(n)) within[static_cast<std::size_t>(at)] = true;
      }
      found.insert(within);
    };
    if (const CallValue* const dim = argument("dim")) {
      if (const auto* const one = std::get_if<std::int64_t>(dim)) take({*one});
      if (const auto* const several = std::get_if<std::vector<std::int64_t>>(dim)) take(*several);
      if (std::holds_alternative<None>(*dim)) take({});
    } else if (const CallValue* const shape = argument("normalized_shape")) {
      std::vector<std::int64_t> last;
      for (std::size_t k = 0; k < std::get<std::vector<std::int64_t>>(*shape).size(); ++k)
        last.push_back(-1 - static_cast<std::int64_t>(k));
      take(last);
    } else {
      take({});
      if (n > 1) take({-1});
    }
    return {found.begin(), found.end()};
  }

  void add_of_rows(const std::vector<bool>& within) {
    const UnpackedTensor& t = tensors_[0];
    const auto reader = std::make_shared<RowReader>(t, tensor_rows(t.shape, within));
    const TensorRows& rows = reader->rows();
    if (rows.offsets.size() < 2) return;
    if (size_of_shape(out_) == static_cast<std::int64_t>(rows.begins.size()))
      for (const RowNumber& f : row_numbers())
        all_.push_back(
            {fmt::format("gives {} of each row of {} along {}", f.name, t.name, rows.along),
             [reader, f](std::int64_t at) { return f.of(reader->row(static_cast<std::size_t>(at))); }});
    if (out_ == t.shape) add_row_functions(t, reader);
  }

  // With the weight and the bias of a norm, where the call has them.
  void add_row_functions(const UnpackedTensor& t, const std::shared_ptr<RowReader>& reader) {
    const TensorRows& rows = reader->rows();
    // Of each element the row that it is in, and its place there.
    auto places = std::make_shared<std::vector<std::pair<std::uint32_t, std::uint32_t>>>(t.values->size());
    for (std::size_t r = 0; r < rows.begins.size(); ++r)
      for (std::size_t k = 0; k < rows.offsets.size(); ++k)
        (*places)[static_cast<std::size_t>(rows.begins[r] + rows.offsets[k])] = {
            static_cast<std::uint32_t>(r), static_cast<std::uint32_t>(k)};
    const auto* const named = argument("eps");
    const double eps =
        named != nullptr && std::holds_alternative<double>(*named) ? std::get<double>(*named) : 0;
    const UnpackedTensor* const weight = tensor("weight");
    const UnpackedTensor* const bias = tensor("bias");
    const auto fits = [&](const UnpackedTensor* n) {
      return n != nullptr && n->values->size() == rows.offsets.size();
    };
    const auto scale = fits(weight) ? weight->values : nullptr, shift = fits(bias) ? bias->values : nullptr;
    for (const RowFunction& f : row_functions()) {
      struct Kept {
        std::size_t row = ~std::size_t{0};
        std::vector<double> result;
      };
      all_.push_back(
          {fmt::format("gives {}{}{}, of the rows of {} along {}", f.formula, scale ? ", times weight" : "",
                       shift ? ", plus bias" : "", t.name, rows.along),
           [=, kept = std::make_shared<Kept>()](std::int64_t at) {
             const auto [r, k] = (*places)[static_cast<std::size_t>(at)];
             if (kept->row != r) {
               const std::vector<double>& row = reader->row(r);
               kept->result.resize(row.size());
               f.of(row, eps, kept->result);
               kept->row = r;
             }
             return kept->result[k] * (scale ? (*scale)[k] : 1) + (shift ? (*shift)[k] : 0);
           }});
    }
  }

  // Of the rows of a matrix and the columns of another, as products take them.
  void add_of_two_rows() {
    const std::string_view op = call_.op->schema.base;
    const UnpackedTensor* const x = tensor(op == "linear" ? "input" : "self");
    const UnpackedTensor* const y = tensor(op == "linear" ? "weight" : "mat2");
    if ((op != "linear" && op != "mm" && op != "bmm") || x == nullptr || y == nullptr || x->shape.empty())
      return;
    const std::size_t n = x->shape.size();
    std::vector<bool> last_x(n, false), within_y(y->shape.size(), false);
    last_x[n - 1] = true;
    within_y[op == "linear" ? 1 : y->shape.size() - 2] = true;
    const auto first = std::make_shared<RowReader>(*x, tensor_rows(x->shape, last_x));
    const auto second = std::make_shared<RowReader>(*y, tensor_rows(y->shape, within_y));
    if (first->rows().offsets.size() < 2) return;
    const auto columns = static_cast<std::int64_t>(op == "linear" ? y->shape[0] : y->shape.back());
    const std::int64_t rows_each =
        op == "bmm" ? x->shape[1] : static_cast<std::int64_t>(first->rows().begins.size());
    const UnpackedTensor* const bias = tensor("bias");
    const auto shift = bias != nullptr && static_cast<std::int64_t>(bias->values->size()) == columns
                           ? bias->values
                           : nullptr;
    for (const RowsNumber& f : rows_numbers())
      all_.push_back(
          {fmt::format("gives {}{} of each row of {} and each {} of {}", f.name, shift ? ", plus bias," : "",
                       x->name, op == "linear" ? "row" : "column", y->name),
           [=](std::int64_t at) {
             const std::int64_t row = at / columns, column = at % columns, matrix = row / rows_each;
             const double value = f.of(first->row(static_cast<std::size_t>(row)),
                                       second->row(static_cast<std::size_t>(matrix * columns + column)));
             return value + (shift ? (*shift)[static_cast<std::size_t>(column)] : 0);
           }});
  }

  Evidence& evidence_;
  const Call& call_;
  const Shape& out_;
  std::vector<UnpackedTensor> tensors_;
  std::vector<FunctionCandidate> all_;
};

// Of the results that are there, the first alone diverges, and in enough different numbers.
bool has_different_results(const Evidence& e) {
  if (e.call().outputs.empty() || !e.has(0)) return false;
  std::set<double> different;
  for (std::size_t i = 0; i < e.tried_diverging(); ++i) {
    const Element& t = e.tried()[i];
    if (t.output != 0) return false;
    if (std::isfinite(t.actual)) different.insert(t.actual);
  }
  return different.size() >= kLeastDifferentResults;
}

class FunctionAgreement {
 public:
  explicit FunctionAgreement(Evidence& e)
      : e_(e), unit_(format(e.stored(0)).unit), exactly_(e.expectation().integers(0) != nullptr) {
    std::vector<double> sizes;
    for (std::size_t i = 0; i < e.tried_diverging(); ++i)
      if (const double size = std::fabs(e.tried()[i].right.value); size > 0 && std::isfinite(size))
        sizes.push_back(size);
    if (sizes.empty()) return;
    std::ranges::nth_element(sizes, sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2));
    least_ = std::min(least_, sizes[sizes.size() / 2]);
  }

  bool with(const FunctionValues& values) {
    // Some of those that diverge say of most functions that it is none of them.
    const std::size_t step = std::max<std::size_t>(1, e_.tried_diverging() / kLookedFirst);
    for (std::size_t i = 0; i < e_.tried_diverging(); i += step)
      if (const Element& t = e_.tried()[i]; !agrees(values(t.at), t.actual)) return false;
    std::size_t far = 0;
    for (const Element& t : e_.tried()) {
      if (t.output != 0) continue;
      const double x = values(t.at);
      if (!agrees(x, t.actual)) return false;
      far += t.diverges && !(std::fabs(t.actual - t.right.value) <= kFarFromRight * tolerance(x)) ? 1 : 0;
    }
    if (2 * far < e_.tried_diverging()) return false;
    const std::int64_t n = size_of_shape(e_.call().outputs[0].shape);
    for (std::int64_t at = 0; at < n; ++at) {
      if (at % 4096 == 0) stop_now();
      if (!agrees(values(at), e_.actual(0, at))) return false;
    }
    return true;
  }

 private:
  double tolerance(double x) const {
    return exactly_ ? 0 : kNearFunction * std::max(std::fabs(x), least_) + 2 * unit_ * std::fabs(x);
  }
  bool agrees(double x, double actual) const {
    if (std::isnan(x) || std::isnan(actual)) return std::isnan(x) && std::isnan(actual);
    // An infinity is near to nothing.
    return x == actual || (std::isfinite(x) && std::fabs(actual - x) <= tolerance(x));
  }

  Evidence& e_;
  double least_ = 0.25;  // below that size errors are those of larger numbers on the way
  double unit_;
  bool exactly_;
};

}  // namespace

std::optional<KnownFunction> known_function(std::span<Evidence* const> calls) {
  const auto until = std::chrono::steady_clock::now() + kMostForLinear;
  try {
    const StopScope limit([until] { return std::chrono::steady_clock::now() > until; });
    std::vector<std::string> agree;
    for (std::size_t c = 0; c < calls.size(); ++c) {
      if (!has_different_results(*calls[c])) return std::nullopt;
      FunctionAgreement agreement(*calls[c]);
      std::vector<std::string> here;
      for (const FunctionCandidate& candidate : FunctionCandidates(*calls[c]).all()) {
        stop_now();
        if (c > 0 && std::ranges::find(agree, candidate.says) == agree.end()) continue;
        if (agreement.with(candidate.at)) here.push_back(candidate.says);
      }
      if (here.empty()) return std::nullopt;
      agree = std::move(here);
    }
    if (agree.empty()) return std::nullopt;
    return KnownFunction{"results.of_function", agree.front(), {agree.begin() + 1, agree.end()}};
  } catch (const Stopped&) {
    stop_now();  // if somebody else's time is over, and not this search's alone
  }
  return std::nullopt;
}

}  // namespace assay::diagnose
