// With x_g what group g of a weight's row contributes to a result, or would if each of its elements were 1, a result has
// sum over g of c_g x_g more than is right. The c_g of a row are solved from all results that the row is part of.
#include "groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "linear.h"
#include "products.h"
#include "reports/text.h"
#include "vocabulary/stop.h"

namespace assay::diagnose {
namespace {

constexpr std::int64_t kSizes[] = {256, 128, 64, 32, 16, 8, 4};  // of groups
constexpr std::size_t kMostRows = 32, kMostGroups = 64, kMoreEquations = 8;
constexpr std::size_t kLeastSpare = 6;  // equations more than numbers, of all rows
constexpr std::size_t kMostOfGroups = 4;
constexpr double kClearly = 8;  // off by so many times what an element is unsure
constexpr double kNone = 1e-4;  // a factor that is 0, as far as it is known
// So many times what a tensor's largest number is, a zero point is off by at most. Larger numbers are what equations have that hardly
// depend on them: of a gradient through softmax, whose sums are zero but for roundings.
constexpr double kMostOff = 0x1p10;

// x of the least |A x - b|, by Householder reflections. Nothing if A has not full rank.
std::optional<std::vector<double>> least_squares(std::vector<std::vector<double>> a, std::vector<double> b) {
  const std::size_t m = a.size(), n = a.empty() ? 0 : a[0].size();
  if (m < n || n == 0) return std::nullopt;
  double largest = 0;
  for (std::size_t k = 0; k < n; ++k) {
    double norm = 0;
    for (std::size_t i = k; i < m; ++i) norm = std::hypot(norm, a[i][k]);
    largest = std::max(largest, norm);
    if (norm <= 1e-9 * largest) return std::nullopt;
    const double alpha = a[k][k] > 0 ? -norm : norm;
    std::vector<double> v(m);
    double length = 0;
    for (std::size_t i = k; i < m; ++i) {
      v[i] = a[i][k] - (i == k ? alpha : 0);
      length += v[i] * v[i];
    }
    const auto reflect = [&](const auto& at) {
      double dot = 0;
      for (std::size_t i = k; i < m; ++i) dot += v[i] * at(i);
      for (std::size_t i = k; i < m; ++i) at(i) -= 2 * dot / length * v[i];
    };
    for (std::size_t j = k; j < n; ++j) reflect([&](std::size_t i) -> double& { return a[i][j]; });
    reflect([&](std::size_t i) -> double& { return b[i]; });
  }
  std::vector<double> x(n);
  for (std::size_t k = n; k-- > 0;) {
    double rest = b[k];
    for (std::size_t j = k + 1; j < n; ++j) rest -= a[k][j] * x[j];
    x[k] = rest / a[k][k];
  }
  return x;
}

// A tensor as rows and columns: the first dimension has a row for each index; or the last one, of a matrix.
struct Matrix {
  std::int64_t rows, columns;
  bool by_columns;  // a row of it is a column of the tensor

  std::size_t at(std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>(by_columns ? column * rows + row : row * columns + column);
  }
};

// For what the numbers stand.
enum class Means : std::uint8_t { added, factor };

class Groups {
 public:
  Groups(Evidence& evidence, int output, std::size_t argument)
      : evidence_(evidence),
        output_(output),
        shape_(evidence.call().outputs[static_cast<std::size_t>(output)].shape),
        argument_(argument),
        given_(std::get<TensorData>(evidence.call().arguments[argument])),
        parts_(evidence.call(), argument, output) {}

  std::optional<Inverted> find() {
    const std::int64_t first = given_.shape.front(), last = given_.shape.back();
    std::vector<Matrix> all{{first, given_.numel() / first, false}};
    if (given_.shape.size() == 2) all.push_back({last, first, true});
    for (const Matrix& m : all) {
      const std::optional<std::size_t> dimension = dimension_of(m);
      if (!dimension) continue;
      choose_rows(m, *dimension);
      // One number for each row, as zero points of channels are.
      if (Products::of(evidence_.call()))
        if (auto found = in_groups(m, m.columns, Means::added)) return found;
      for (const std::int64_t size : kSizes)
        for (const Means number : {Means::added, Means::factor})
          if (size < m.columns)
            if (auto found = in_groups(m, size, number)) return found;
    }
    return std::nullopt;
  }

 private:
  struct Row {
    std::int64_t row;
    std::vector<Surplus> equations;
  };

  std::int64_t index(std::int64_t at, std::size_t dimension) const {
    for (std::size_t d = shape_.size(); d-- > dimension + 1;) at /= shape_[d];
    return at % shape_[dimension];
  }

  double along_row(const Matrix& m, std::int64_t row, std::int64_t at) {
    const auto set = [&](bool there) {
      for (std::int64_t c = 0; c < m.columns; ++c)
        parts_.direction()[m.at(row, c)] = there ? given_.get(static_cast<std::int64_t>(m.at(row, c))) : 0;
    };
    set(true);
    const double x = parts_.along(at);
    set(false);
    return x;
  }

  // The dimension of the result whose index is that of the row which an element depends on, and on no other.
  std::optional<std::size_t> dimension_of(const Matrix& m) {
    std::vector<std::int64_t> places;
    for (const Element& e : evidence_.tried())
      if (e.output == output_ && places.size() < 4) places.push_back(e.at);
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      if (shape_[d] != m.rows || m.rows < 2) continue;
      if (std::ranges::all_of(places, [&](std::int64_t at) {
            const std::int64_t own = index(at, d);
            return along_row(m, own, at) != 0 && along_row(m, (own + 1) % m.rows, at) == 0;
          }))
        return d;
    }
    return std::nullopt;
  }

  // Some rows, and elements of the result that depend on them.
  void choose_rows(const Matrix& m, std::size_t dimension) {
    rows_.clear();
    const std::int64_t step = std::max<std::int64_t>(1, m.rows / static_cast<std::int64_t>(kMostRows));
    std::int64_t inner = 1, outer = 1;
    for (std::size_t d = 0; d < shape_.size(); ++d)
      (d < dimension ? outer : inner) *= d == dimension ? 1 : shape_[d];
    const std::int64_t places = inner * outer;
    const std::int64_t apart =
        std::max<std::int64_t>(1, places / static_cast<std::int64_t>(kMostGroups + kMoreEquations)) | 1;
    for (std::int64_t r = 0; r < m.rows; r += step) {
      Row row{r, {}};
      for (std::int64_t p = 0; p < places; p += apart)
        if (const auto s = surplus(evidence_, output_, (p / inner * m.rows + r) * inner + p % inner))
          row.equations.push_back(*s);
      rows_.push_back(std::move(row));
    }
  }

  std::optional<Inverted> in_groups(const Matrix& m, std::int64_t size, Means number) {
    const auto groups = static_cast<std::size_t>((m.columns + size - 1) / size);
    if (groups > kMostGroups || (groups < 2 && size < m.columns)) return std::nullopt;
    std::vector<double> values, changed;
    std::size_t spare = 0, clear = 0, diverging = 0;
    for (const Row& row : rows_) {
      stop_now();
      const bool diverges = std::ranges::any_of(row.equations, &Surplus::diverges);
      if (!diverges) {
        values.insert(values.end(), groups, 0);
        continue;
      }
      if (row.equations.size() <= groups) return std::nullopt;
      // What is hardly outside its bound is so by an error, which no number for a group has to explain.
      clear += static_cast<std::size_t>(std::ranges::count_if(row.equations, &Groups::is_clear));
      diverging += static_cast<std::size_t>(std::ranges::count_if(row.equations, &Surplus::diverges));
      const auto numbers = solve(m, row, size, groups, number);
      if (!numbers) return std::nullopt;
      spare += row.equations.size() - groups;
      values.insert(values.end(), numbers->begin(), numbers->end());
    }
    if (spare < kLeastSpare || 2 * clear < diverging) return std::nullopt;
    double largest = 0, given = 0;
    for (const double v : values) largest = std::max(largest, std::fabs(v));
    for (std::int64_t i = 0; i < given_.numel(); ++i)
      if (std::isfinite(given_.get(i))) given = std::max(given, std::fabs(given_.get(i)));
    if (largest > kMostOff * (number == Means::added ? given : 1)) return std::nullopt;
    for (const double v : values)
      if (std::fabs(v) > 1e-3 * largest) changed.push_back(v);
    return said(m, size, number, values, changed);
  }

  static bool is_clear(const Surplus& s) { return s.diverges && std::fabs(s.more) > kClearly * s.within; }

  // The numbers of one row, if they give all of its elements.
  std::optional<std::vector<double>> solve(const Matrix& m, const Row& row, std::int64_t size,
                                           std::size_t groups, Means number) {
    std::vector<std::vector<double>> a(row.equations.size(), std::vector<double>(groups));
    std::vector<double> b;
    for (const Surplus& s : row.equations) b.push_back(s.more);
    for (std::size_t g = 0; g < groups; ++g) {
      const std::int64_t begin = static_cast<std::int64_t>(g) * size, end = std::min(begin + size, m.columns);
      const auto set = [&](bool there) {
        for (std::int64_t c = begin; c < end; ++c) {
          const std::size_t at = m.at(row.row, c);
          const double x = number == Means::added ? 1 : given_.get(static_cast<std::int64_t>(at));
          parts_.direction()[at] = there ? x : 0;
        }
      };
      set(true);
      for (std::size_t e = 0; e < row.equations.size(); ++e) {
        a[e][g] = parts_.along(row.equations[e].at);
        if (!std::isfinite(a[e][g])) return set(false), std::nullopt;
      }
      set(false);
    }
    // Where each result has one element of the row, as where functions are applied to them, there are no sums.
    const auto has_several = [](const std::vector<double>& parts) {
      return parts.size() == 1 ||
             std::ranges::count(parts, 0.0) + 1 < static_cast<std::ptrdiff_t>(parts.size());
    };
    if (!std::ranges::all_of(a, has_several)) return std::nullopt;
    const auto x = least_squares(a, b);
    if (!x) return std::nullopt;
    for (std::size_t e = 0; e < row.equations.size(); ++e) {
      const double gives = std::inner_product(x->begin(), x->end(), a[e].begin(), 0.0);
      if (std::fabs(gives - b[e]) > 2 * row.equations[e].within) return std::nullopt;
    }
    return x;
  }

  Inverted said(const Matrix& m, std::int64_t size, Means number, std::vector<double> values,
                const std::vector<double>& changed) const {
    const std::string_view name = evidence_.call().op->schema.argument_storage[argument_].name;
    std::vector<std::string> shown;
    for (std::size_t i = 0; i < std::min(changed.size(), kMostOfGroups); ++i) {
      const double x = number == Means::factor ? 1 + changed[i] : changed[i];
      shown.push_back(number == Means::factor && std::fabs(x) < kNone ? "0" : fmt::format("{:.4g}", x));
    }
    const bool rows = size == m.columns;
    std::string says =
        rows ? fmt::format("for each index of dimension {}", m.by_columns ? 1 : 0)
             : fmt::format("in groups of {} along {}", size,
                           given_.shape.size() > 2 ? std::string("all dimensions but the first")
                                                   : fmt::format("dimension {}", m.by_columns ? 0 : 1));
    says += fmt::format(", {} for each {}: {}{}",
                        number == Means::added ? "a number is added to those given, another one"
                                               : "those given times a number, another one",
                        rows ? "index" : "group", fmt::join(shown, ", "),
                        changed.size() > kMostOfGroups ? ", .." : "");
    if (changed.size() < values.size())
      says += fmt::format(
          " in {}, and as given in the {} that {} looked at", counted(changed.size(), rows ? "row" : "group"),
          values.size() - changed.size() == 1 ? "other"
                                              : fmt::format("{} others", values.size() - changed.size()),
          values.size() - changed.size() == 1 ? "was" : "were");
    says += number == Means::added
                ? fmt::format(", as where {} have another zero point", rows ? "rows" : "groups")
            : std::ranges::all_of(changed, [](double c) { return std::fabs(1 + c) < kNone; })
                ? std::string(", as where groups are left out")
                : std::string(", as where groups have another scale");
    if (static_cast<std::int64_t>(rows_.size()) < m.rows)
      says += fmt::format(" ({} of {} rows of {} were looked at)", rows_.size(), m.rows, name);
    if (number == Means::factor)
      for (double& v : values) v += 1;
    return {std::string(name), std::move(says), std::move(values), std::nullopt, 1};
  }

  Evidence& evidence_;
  int output_;
  const Shape& shape_;
  std::size_t argument_;
  const TensorData& given_;
  Contributions parts_;
  std::vector<Row> rows_;
};

}  // namespace

std::vector<Inverted> groups_of(Evidence& evidence) {
  const std::optional<int> output = first_wrong_output(evidence);
  if (!output) return {};
  const Call& call = evidence.call();
  const auto until = std::chrono::steady_clock::now() + kMostForLinear;
  try {
    const StopScope limit([until] { return std::chrono::steady_clock::now() > until; });
    for (const std::size_t i : tensors_of_numbers(call)) {
      const auto& t = std::get<TensorData>(call.arguments[i]);
      if (t.shape.size() < 2 || t.numel() < 16) continue;
      if (auto found = Groups(evidence, *output, i).find()) return {std::move(*found)};
    }
  } catch (const Stopped&) {
    stop_now();  // if somebody else's time is over, and not this search's alone
  }
  return {};
}

}  // namespace assay::diagnose
