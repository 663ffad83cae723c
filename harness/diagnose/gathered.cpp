#include "gathered.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "vocabulary/stop.h"

namespace assay::diagnose {
namespace {

constexpr std::int64_t kMostOfTable = 1 << 22;  // of weight, and of results
constexpr std::int64_t kLeastElsewhere = 8;     // of rows that stand elsewhere
constexpr std::size_t kMostShownRows = 4;

using TakenRows = std::map<std::int64_t, std::int64_t>;  // the row that was taken, by index

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::uint64_t row_hash(std::uint64_t h, double x) {
  const std::uint64_t bits = std::isnan(x) ? 1 : std::bit_cast<std::uint64_t>(x == 0 ? 0.0 : x);
  return (h ^ bits) * 0x9e3779b97f4a7c15ULL + (h >> 29);
}

// Rows by what stands in them.
class TableRows {
 public:
  explicit TableRows(const TensorData& weight) : weight_(weight), width_(weight.shape[1]) {
    for (std::int64_t r = 0; r < weight.shape[0]; ++r) {
      std::uint64_t h = 0;
      for (std::int64_t c = 0; c < width_; ++c) h = row_hash(h, weight.get(r * width_ + c));
      rows_.emplace(h, r);
      if (r % 1024 == 0) stop_now();
    }
  }

  template <class Number>
  bool is_row(std::int64_t row, const Number& number) const {
    for (std::int64_t c = 0; c < width_; ++c)
      if (!is_same(weight_.get(row * width_ + c), number(c))) return false;
    return true;
  }
  template <class Number>
  std::optional<std::int64_t> find(const Number& number) const {
    std::uint64_t h = 0;
    for (std::int64_t c = 0; c < width_; ++c) h = row_hash(h, number(c));
    const auto [begin, end] = rows_.equal_range(h);
    for (auto at = begin; at != end; ++at)
      if (is_row(at->second, number)) return at->second;
    return std::nullopt;
  }

 private:
  const TensorData& weight_;
  std::int64_t width_;
  std::multimap<std::uint64_t, std::int64_t> rows_;
};

std::optional<TakenRows> taken(Evidence& evidence, const TensorData& weight, const TensorData& indices) {
  const TableRows table(weight);
  const std::int64_t width = weight.shape[1];
  TakenRows all;
  for (std::int64_t i = 0; i < indices.numel(); ++i) {
    const auto index = static_cast<std::int64_t>(indices.get(i));
    const auto number = [&](std::int64_t c) { return evidence.actual(0, i * width + c); };
    const auto known = all.find(index);
    if (known != all.end()) {
      if (!table.is_row(known->second, number)) return std::nullopt;
      continue;
    }
    if (table.is_row(index, number)) {
      all.emplace(index, index);
      continue;
    }
    const std::optional<std::int64_t> row = table.find(number);
    if (!row) return std::nullopt;
    all.emplace(index, *row);
  }
  return all;
}

template <class F>
bool is_all(const TakenRows& taken, const F& f) {
  return std::ranges::all_of(taken, [&](const auto& t) { return f(t.first) == t.second; });
}

// Rows of weight for which zeros stand in the results, though the others are as they were asked for.
Variant with_rows_of_zeros(const std::set<std::int64_t>& zeros, const std::set<std::int64_t>& others,
                           std::size_t weight) {
  const std::int64_t first = *zeros.begin(), last = *zeros.rbegin();
  std::string says;
  if (zeros.size() == 1)
    says = fmt::format("gives zeros for index {}", first);
  else if (others.empty() || *others.rbegin() < first)
    says = fmt::format("gives zeros for indices from {} on", first);
  else if (*others.begin() > last)
    says = fmt::format("gives zeros for indices up to {}", last);
  else
    says = fmt::format("gives zeros for {} of the indices, from {} to {}", zeros.size(), first, last);
  return {.name = "weight.rows_as_zeros",
          .says = std::move(says),
          .arguments =
              [weight, zeros](Call& changed) {
                auto& t = std::get<TensorData>(changed.arguments[weight]);
                bool other = false;
                for (const std::int64_t row : zeros) {
                  if (row >= t.shape[0]) return false;
                  for (std::int64_t at = row * t.shape[1]; at < (row + 1) * t.shape[1]; ++at) {
                    other = other || t.get(at) != 0;
                    t.set(at, 0);
                  }
                }
                return other;
              },
          .argument = static_cast<int>(weight)};
}

std::vector<Variant> rows_as_zeros(Evidence& evidence, std::size_t at_weight, const TensorData& weight,
                                   const TensorData& indices) {
  std::set<std::int64_t> zeros, others;
  const std::int64_t width = weight.shape[1];
  for (std::int64_t i = 0; i < indices.numel(); ++i) {
    stop_point_at(i);
    const auto row = static_cast<std::int64_t>(indices.get(i));
    bool is_zero = true, is_right = true;
    for (std::int64_t c = 0; c < width; ++c) {
      const double came = evidence.actual(0, i * width + c);
      is_zero = is_zero && came == 0;
      is_right = is_right && is_same(came, weight.get(row * width + c));
    }
    if (!is_zero && !is_right) return {};
    if (!is_right)
      zeros.insert(row);
    else if (!is_zero)
      others.insert(row);
  }
  const bool same_index_twice =
      std::ranges::any_of(zeros, [&](std::int64_t row) { return others.contains(row); });
  if (zeros.empty() || same_index_twice) return {};
  return {with_rows_of_zeros(zeros, others, at_weight)};
}

struct GatheredReading {
  std::string name, says;
};

GatheredReading reading_of(const TakenRows& taken, std::int64_t rows) {
  std::int64_t least = rows, most = 0;
  for (const auto& [index, row] : taken) {
    least = std::min(least, row);
    most = std::max(most, row);
  }
  const std::int64_t by = taken.begin()->second - taken.begin()->first;
  if (is_all(taken, [&](std::int64_t i) { return i + by; }))
    return {fmt::format("indices.off_by_{}", by),
            fmt::format("takes indices that are {} too {}", std::abs(by), by > 0 ? "large" : "small")};
  if (is_all(taken, [&](std::int64_t i) { return ((i + by) % rows + rows) % rows; }))
    return {fmt::format("indices.rotated_by_{}", by),
            fmt::format("takes indices that are {} too {}, and goes on at the other end of weight",
                        std::abs(by), by > 0 ? "large" : "small")};
  if (is_all(taken, [&](std::int64_t i) { return std::min(i, most); }))
    return {fmt::format("indices.at_most_{}", most), fmt::format("takes indices above {} as {}", most, most)};
  if (is_all(taken, [&](std::int64_t i) { return std::max(i, least); }))
    return {fmt::format("indices.at_least_{}", least),
            fmt::format("takes indices below {} as {}", least, least)};
  for (std::int64_t n = most + 1; n < rows; ++n)
    if (is_all(taken, [&](std::int64_t i) { return i % n; }))
      return {fmt::format("indices.modulo_{}", n), fmt::format("takes indices modulo {}", n)};
  std::vector<std::string> shown;
  std::size_t others = 0;
  for (const auto& [index, row] : taken) {
    if (index == row) continue;
    if (shown.size() < kMostShownRows)
      shown.push_back(fmt::format("{} for index {}", row, index));
    else
      ++others;
  }
  return {"indices.others",
          fmt::format("takes other rows of weight than it was asked for: {}{}", fmt::join(shown, ", "),
                      others > 0 ? fmt::format(", and {} more", others) : std::string())};
}

}  // namespace

std::vector<Variant> gathered_of(Evidence& evidence) {
  const Call& call = evidence.call();
  if (call.op->schema.name != "embedding" || !evidence.has(0)) return {};
  if (std::ranges::any_of(evidence.rounding().stored, [](const auto& d) { return d.has_value(); })) return {};
  const auto at = static_cast<std::size_t>(call.op->schema.find("indices"));
  const auto at_weight = static_cast<std::size_t>(call.op->schema.find("weight"));
  const auto* weight = std::get_if<TensorData>(&call.arguments[at_weight]);
  const auto* indices = std::get_if<TensorData>(&call.arguments[at]);
  if (weight == nullptr || indices == nullptr || weight->numel() > kMostOfTable ||
      indices->numel() * weight->shape[1] > kMostOfTable || weight->numel() == 0 || indices->numel() == 0)
    return {};
  const std::optional<TakenRows> all = taken(evidence, *weight, *indices);
  if (!all) return rows_as_zeros(evidence, at_weight, *weight, *indices);
  const auto moved = std::ranges::count_if(*all, [](const auto& t) { return t.first != t.second; });
  if (moved * weight->shape[1] < kLeastElsewhere) return {};
  const GatheredReading reading = reading_of(*all, weight->shape[0]);
  return {{.name = reading.name,
           .says = reading.says,
           .arguments =
               [at, all = *all](Call& changed) {
                 auto& t = std::get<TensorData>(changed.arguments[at]);
                 for (std::int64_t i = 0; i < t.numel(); ++i) {
                   const auto row = all.find(static_cast<std::int64_t>(t.get(i)));
                   if (row == all.end()) return false;
                   t.set(i, static_cast<double>(row->second));
                 }
                 return true;
               },
           .argument = static_cast<int>(at)}};
}

}  // namespace assay::diagnose
