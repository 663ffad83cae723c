#include "conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace assay::diff {
namespace {

constexpr std::int64_t kMostModulus = 64;
constexpr std::int64_t kMostCounted = 1 << 20;  // values of a coordinate that are counted one by one
constexpr std::size_t kMostListed = 6;

bool bit(const Bits& bits, std::size_t k) { return (bits[k / 64] >> (k % 64) & 1) != 0; }

// Weights of a part of the sample, in the set and outside of it.
struct Weights {
  double in = 0, out = 0;
  Weights& operator+=(const Weights& w) {
    in += w.in;
    out += w.out;
    return *this;
  }
};
double f_of(const Weights& named, double in) { return 2 * named.in / (in + named.in + named.out); }

class Finder {
 public:
  Finder(const Sample& sample, const Bits& domain) : sample_(sample), domain_(domain) {
    for (std::size_t k = 0; k < sample.size(); ++k)
      if (bit(domain, k)) {
        members_.push_back(k);
        total_ += weight(k);
      }
  }

  const std::vector<std::size_t>& members() const { return members_; }
  std::uint64_t element(std::size_t k) const { return sample_.elements[k]; }
  double in() const { return total_.in; }
  const Weights& total() const { return total_; }
  Weights weight(std::size_t k) const {
    return bit(sample_.in_set, k) ? Weights{sample_.weight_in, 0} : Weights{0, sample_.weight_out};
  }

  void add(std::string text, int rank, std::function<bool(std::uint64_t element)> holds) {
    Condition c{std::move(text), rank, std::move(holds), Bits(domain_.size(), 0), by_number_};
    for (const std::size_t k : members_)
      if (c.at(element(k))) c.holds[k / 64] |= std::uint64_t{1} << (k % 64);
    found_.push_back(std::move(c));
  }
  void by_number() { by_number_ = true; }  // those that follow
  bool is_by_number() const { return by_number_; }
  std::vector<Condition> take() { return std::move(found_); }

 private:
  const Sample& sample_;
  const Bits& domain_;
  std::vector<std::size_t> members_;
  Weights total_;
  std::vector<Condition> found_;
  bool by_number_ = false;
};

using WholeNumber = std::function<std::int64_t(std::uint64_t element)>;

// ---- Whole numbers: coordinates, and the row-major number -------------------------------------------------

struct Best {
  double f = -1;
  std::int64_t at = 0;
  void offer(double f_here, std::int64_t here) {
    if (f_here > f + 1e-12) *this = {f_here, here};
  }
};

// The best value, remainder and cut of numbers from 0 to size - 1, given the weights of each.
struct Cuts {
  Best equal, unequal, from, below;
};
Cuts cuts(const std::vector<Weights>& of, const Weights& total) {
  Cuts c;
  Weights before;
  const auto rest = [&](const Weights& w) { return Weights{total.in - w.in, total.out - w.out}; };
  for (std::size_t v = 0; v < of.size(); ++v) {
    const auto at = static_cast<std::int64_t>(v);
    c.equal.offer(f_of(of[v], total.in), at);
    c.unequal.offer(f_of(rest(of[v]), total.in), at);
    if (v > 0) {
      c.from.offer(f_of(rest(before), total.in), at);
      c.below.offer(f_of(before, total.in), at);
    }
    before += of[v];
  }
  return c;
}

// The range of numbers that tells the set best: of all ranges, the one whose in and out make the largest F. That is at least t where
// the sum over the range of (2 - t) in - t out is at least t times what is in at all, so that the largest sum says the next t.
struct Range {
  std::int64_t first = 0, last = -1;
  double f = 0;
};
Range best_range(const std::vector<Weights>& of, const Weights& total) {
  constexpr int kMostSteps = 12;
  Range best;
  for (int step = 0; step < kMostSteps; ++step) {
    double sum = 0, most = 0;
    Weights named;
    Range range, at;
    Weights so_far;
    for (std::size_t v = 0; v < of.size(); ++v) {
      const double x = (2 - best.f) * of[v].in - best.f * of[v].out;
      if (sum <= 0) {
        sum = 0;
        so_far = {};
        at.first = static_cast<std::int64_t>(v);
      }
      sum += x;
      so_far += of[v];
      at.last = static_cast<std::int64_t>(v);
      if (sum > most) {
        most = sum;
        range = at;
        named = so_far;
      }
    }
    if (range.last < range.first) break;
    range.f = f_of(named, total.in);
    if (range.f <= best.f + 1e-9) break;
    best = range;
  }
  return best;
}

std::string vector_note(std::int64_t from, std::int64_t size) {
  for (const std::int64_t width : {64, 32, 16, 8, 4})
    if (size % width != 0 && from == size / width * width)
      return fmt::format(", after the last whole vector of {}", width);
  return {};
}

void remainders(Finder& finder, const std::string& name, const WholeNumber& of, std::int64_t size) {
  struct Choice {
    double f = -1;
    std::int64_t modulus = 0, at = 0;
    int kind = 0;  // equal, from, below
  } best;
  for (std::int64_t m = 2; m <= std::min(kMostModulus, size / 2); ++m) {
    std::vector<Weights> weights(static_cast<std::size_t>(m));
    for (const std::size_t k : finder.members())
      weights[static_cast<std::size_t>(of(finder.element(k)) % m)] += finder.weight(k);
    const Cuts c = cuts(weights, finder.total());
    int kind = 0;
    for (const Best& b : {c.equal, c.from, c.below}) {
      if (b.f > best.f + 1e-9) best = {b.f, m, b.at, kind};
      ++kind;
    }
  }
  if (best.modulus == 0) return;
  const std::string modulo = fmt::format("{} modulo {}", name, best.modulus);
  const std::int64_t m = best.modulus, at = best.at;
  if (best.kind == 0)
    finder.add(fmt::format("{} is {}", modulo, at), 3,
               [of, m, at](std::uint64_t e) { return of(e) % m == at; });
  else if (best.kind == 1)
    finder.add(
        at == m - 1 ? fmt::format("{} is {}", modulo, at) : fmt::format("{} is {} or more", modulo, at), 3,
        [of, m, at](std::uint64_t e) { return of(e) % m >= at; });
  else
    finder.add(fmt::format("{} is below {}", modulo, at), 3,
               [of, m, at](std::uint64_t e) { return of(e) % m < at; });
}

void whole_numbers(Finder& finder, const std::string& name, const WholeNumber& of, std::int64_t size) {
  if (size < 2) return;
  remainders(finder, name, of, size);
  // Of very many, cuts between blocks.
  const std::int64_t block = (size + kMostCounted - 1) / kMostCounted;
  std::vector<Weights> weights(static_cast<std::size_t>((size + block - 1) / block));
  for (const std::size_t k : finder.members())
    weights[static_cast<std::size_t>(of(finder.element(k)) / block)] += finder.weight(k);
  const Cuts c = cuts(weights, finder.total());
  const std::int64_t from = c.from.at * block, below = c.below.at * block;
  if (from == size - 1)
    finder.add(fmt::format("{} is the last one, {}", name, from), 1,
               [of, from](std::uint64_t e) { return of(e) == from; });
  else if (c.from.f >= 0)
    finder.add(fmt::format("{} is {} or more{}", name, from, vector_note(from, size)), 2,
               [of, from](std::uint64_t e) { return of(e) >= from; });
  if (c.below.f >= 0 && below > 1)
    finder.add(fmt::format("{} is below {}", name, below), 2,
               [of, below](std::uint64_t e) { return of(e) < below; });
  const Range range = best_range(weights, finder.total());
  if (range.first > 0 && range.last > range.first &&
      range.last + 1 < static_cast<std::int64_t>(weights.size())) {
    const std::int64_t first = range.first * block, last = std::min((range.last + 1) * block, size) - 1;
    finder.add(fmt::format("{} is {} to {}", name, first, last), 2,
               [of, first, last](std::uint64_t e) { return of(e) >= first && of(e) <= last; });
  }
  if (block > 1) return;
  finder.add(fmt::format("{} is {}", name, c.equal.at), 1,
             [of, at = c.equal.at](std::uint64_t e) { return of(e) == at; });
  if (!finder.is_by_number())  // but for one element, that is everywhere
    finder.add(fmt::format("{} is not {}", name, c.unequal.at), 1,
               [of, at = c.unequal.at](std::uint64_t e) { return of(e) != at; });
  if (size > 2)
    finder.add(fmt::format("{} is 0 or {}, its borders", name, size - 1), 2,
               [of, size](std::uint64_t e) { return of(e) == 0 || of(e) == size - 1; });
  std::vector<std::int64_t> listed;
  for (std::size_t v = 0; v < weights.size(); ++v)
    if (weights[v].in > weights[v].out) listed.push_back(static_cast<std::int64_t>(v));
  if (listed.size() >= 2 && listed.size() <= kMostListed && listed.size() * 2 < weights.size())
    finder.add(fmt::format("{} is one of {}", name, fmt::join(listed, ", ")), 4,
               [of, listed](std::uint64_t e) { return std::ranges::binary_search(listed, of(e)); });
}

void borders(Finder& finder, const Shape& shape, const std::vector<std::int64_t>& strides) {
  const std::size_t rank = shape.size();
  if (rank < 2 || shape[rank - 1] < 3 || shape[rank - 2] < 3) return;
  const std::int64_t rows = shape[rank - 2], columns = shape[rank - 1], row = strides[rank - 2];
  finder.add(fmt::format("dimension {} or {} is on its border", rank - 2, rank - 1), 3,
             [rows, columns, row](std::uint64_t e) {
               const std::int64_t i = static_cast<std::int64_t>(e) / row % rows,
                                  j = static_cast<std::int64_t>(e) % columns;
               return i == 0 || i == rows - 1 || j == 0 || j == columns - 1;
             });
}

// Sides of the diagonal of the last two dimensions, as of masks.
void diagonals(Finder& finder, const Shape& shape, const std::vector<std::int64_t>& strides) {
  const std::size_t rank = shape.size();
  if (rank < 2 || shape[rank - 1] < 3 || shape[rank - 2] < 3) return;
  const auto side = [rows = shape[rank - 2], columns = shape[rank - 1],
                     row = strides[rank - 2]](std::uint64_t e) {
    const auto at = static_cast<std::int64_t>(e);
    return at % columns - at / row % rows;
  };
  const auto add = [&](std::string_view how, bool (*holds)(std::int64_t)) {
    finder.add(fmt::format("dimension {} is {} dimension {}", rank - 1, how, rank - 2), 3,
               [side, holds](std::uint64_t e) { return holds(side(e)); });
  };
  add("greater than", [](std::int64_t d) { return d > 0; });
  add("less than", [](std::int64_t d) { return d < 0; });
  add("equal to", [](std::int64_t d) { return d == 0; });
  add("not equal to", [](std::int64_t d) { return d != 0; });
}

// All of the set lies between these indices of each dimension: a tile.
void tile(Finder& finder, const Shape& shape, const std::vector<std::int64_t>& strides,
          const Sample& sample) {
  std::vector<std::int64_t> first(shape), last(shape.size(), -1);
  for (const std::size_t k : finder.members()) {
    if (!bit(sample.in_set, k)) continue;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::int64_t i = static_cast<std::int64_t>(finder.element(k)) / strides[d] % shape[d];
      first[d] = std::min(first[d], i);
      last[d] = std::max(last[d], i);
    }
  }
  std::vector<std::string> says;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (first[d] > last[d] || (first[d] == 0 && last[d] == shape[d] - 1)) continue;
    says.push_back(first[d] == last[d] ? fmt::format("dimension {} is {}", d, first[d])
                                       : fmt::format("dimension {} is {} to {}", d, first[d], last[d]));
  }
  if (says.size() < 2) return;
  finder.add(fmt::format("{}", fmt::join(says, " and ")), 3, [shape, strides, first, last](std::uint64_t e) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::int64_t i = static_cast<std::int64_t>(e) / strides[d] % shape[d];
      if (i < first[d] || i > last[d]) return false;
    }
    return true;
  });
}

// ---- Numbers ----------------------------------------------------------------------------------------------

// The best cut of a measure of the values; where it lies is said by the least value that is named.
void threshold(Finder& finder, const std::string& text_from, const std::string& text_below,
               const std::function<double(std::uint64_t element)>& of) {
  std::vector<double> measure;
  for (const std::size_t k : finder.members()) measure.push_back(of(finder.element(k)));
  std::vector<std::size_t> order;  // among the members
  for (std::size_t n = 0; n < measure.size(); ++n)
    if (!std::isnan(measure[n])) order.push_back(n);
  std::ranges::sort(order, {}, [&](std::size_t n) { return measure[n]; });
  Weights all, before;
  for (const std::size_t n : order) all += finder.weight(finder.members()[n]);
  double best_from = -1, best_below = -1, from = 0, below = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double x = measure[order[i]];
    if (i > 0 && x != measure[order[i - 1]]) {
      const double f_from = f_of({all.in - before.in, all.out - before.out}, finder.in());
      const double f_below = f_of(before, finder.in());
      if (f_from > best_from) best_from = f_from, from = x;
      if (f_below > best_below) best_below = f_below, below = x;
    }
    before += finder.weight(finder.members()[order[i]]);
  }
  if (best_from >= 0)
    finder.add(fmt::format(fmt::runtime(text_from), from), 3,
               [of, from](std::uint64_t e) { return of(e) >= from; });
  if (best_below >= 0)
    finder.add(fmt::format(fmt::runtime(text_below), below), 3,
               [of, below](std::uint64_t e) { return of(e) < below; });
}

void numbers(Finder& finder, const Values& values) {
  const auto add = [&](std::string_view what, int rank, bool (*holds)(double)) {
    finder.add(fmt::format("{} {}", values.name, what), rank,
               [at = values.at, holds](std::uint64_t e) { return holds(at(e)); });
  };
  add("is below 0", 0, [](double v) { return v < 0; });
  add("is above 0", 0, [](double v) { return v > 0; });
  add("is 0", 0, [](double v) { return v == 0; });
  add("is NaN", 0, [](double v) { return std::isnan(v); });
  add("is infinite", 0, [](double v) { return std::isinf(v); });
  add("is no whole number", 3, [](double v) { return std::isfinite(v) && v != std::nearbyint(v); });
  threshold(finder, values.name + " is {:.6g} or more", values.name + " is below {:.6g}", values.at);
  threshold(finder, "|" + values.name + "| is {:.6g} or more", "|" + values.name + "| is below {:.6g}",
            [at = values.at](std::uint64_t e) { return std::fabs(at(e)); });
}

}  // namespace

std::vector<Condition> conditions(const Sample& sample, const Bits& domain, const Shape& shape,
                                  const std::vector<Values>& values) {
  Finder finder(sample, domain);
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  for (const Values& v : values) numbers(finder, v);
  for (std::size_t d = 0; d < shape.size(); ++d)
    whole_numbers(
        finder, shape.size() == 1 ? "the index" : fmt::format("dimension {}", d),
        [stride = strides[d], size = shape[d]](std::uint64_t e) {
          return static_cast<std::int64_t>(e) / stride % size;
        },
        shape[d]);
  borders(finder, shape, strides);
  diagonals(finder, shape, strides);
  tile(finder, shape, strides, sample);
  std::int64_t numel = 1;
  for (const std::int64_t n : shape) numel *= n;
  finder.by_number();
  if (shape.size() > 1)
    whole_numbers(
        finder, "the row-major number", [](std::uint64_t e) { return static_cast<std::int64_t>(e); }, numel);
  return finder.take();
}

}  // namespace assay::diff
